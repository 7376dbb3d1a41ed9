package io.jenkins.plugins.preemptible.lifecycle;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.FreeStyleBuild;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The controller stopped when the record of an ended stage was dropped, and before anything else of it was removed. */
@WithJenkins
class EndingTest {

    private static final String ID = "preemptible-1a2b3c4d";

    @Test
    void whatIsStoredOfItGoesLater(JenkinsRule j) throws Exception {
        FreeStyleBuild build = j.buildAndAssertSuccess(j.createFreeStyleProject());
        StageRegistry.get()
                .add(StageRecord.running(
                        ID, StageRecord.Form.OWN, build.getExternalizableId(), "stage", "gone", "/w", null, 5, 0));
        List<Path> stored = stored(build);
        Path other = Files.writeString(stored.get(0).resolveSibling("the build's own"), "kept");
        StageRegistry.get().ended(ID);
        new Ending.Leftovers().doRun();
        await().atMost(Duration.ofMinutes(1)).until(() -> stored.stream().noneMatch(Files::exists));
        assertTrue(Files.exists(other));
        assertEquals(1, StageRegistry.get().leftovers().size(), "its agent may come back");
    }

    @Test
    void whatIsKeptOfItStays(JenkinsRule j) throws Exception {
        FreeStyleBuild build = j.buildAndAssertSuccess(j.createFreeStyleProject());
        List<Path> stored = stored(build);
        Pretended.endedUncleaned(ID, build.getExternalizableId());
        // As of an agent of a cloud that was removed: this is the last look.
        new Ending.Leftovers().doRun();
        await().atMost(Duration.ofMinutes(1))
                .until(() -> StageRegistry.get().leftovers().isEmpty());
        assertTrue(stored.stream().allMatch(Files::exists));
    }

    private static List<Path> stored(FreeStyleBuild build) throws Exception {
        Path folder = Files.createDirectories(
                build.getArtifactsDir().toPath().resolve(ImagePath.FOLDER).resolve(ID));
        List<Path> stored = List.of(
                folder.resolve(ImagePath.FILE),
                folder.resolve(ImagePath.LUGGAGE + ".1-of-2"),
                folder.resolve("checkpoint-3.preempt"));
        for (Path each : stored) {
            Files.writeString(each, "sealed");
        }
        return stored;
    }
}
