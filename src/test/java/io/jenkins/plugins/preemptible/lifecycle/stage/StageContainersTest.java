package io.jenkins.plugins.preemptible.lifecycle.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The containers of a stage, as its record keeps them. */
class StageContainersTest {

    private static final ContainerRef ONE = new ContainerRef("docker", "1".repeat(64));
    private static final ContainerRef TWO = new ContainerRef("podman", "2".repeat(64));

    private static StageContainers some() {
        return StageContainers.of(Map.of())
                .with(ONE, "/a", 3)
                .with(TWO, "/b", 3)
                .with(ONE, "/c", 3);
    }

    @Test
    void savedAndRead() {
        assertEquals(List.of(ONE, TWO), some().all());
        assertEquals(some().saved(), StageContainers.of(some().saved()).saved());
        assertEquals(Optional.of("/c"), some().folderIn(ONE));
        assertEquals(List.of(TWO), some().of(List.of("/b", "/unknown")));
    }

    @Test
    void onlyTheNewestFoldersAreKept() {
        StageContainers more = some().with(TWO, "/d", 3);
        assertEquals(List.of("/b", "/c", "/d"), List.copyOf(more.saved().keySet()));
        assertEquals(List.of(), some().without(ONE).without(TWO).all());
    }

    @Test
    void whatIsNoContainerInAFileIsLeftOut() {
        Map<String, String> saved = new LinkedHashMap<>();
        saved.put("/a", "docker --privileged");
        saved.put("/b", "docker");
        saved.put("/c", null);
        saved.put("/d", "rm " + ONE.id());
        assertEquals(List.of(ONE), StageContainers.of(saved).all());
    }
}
