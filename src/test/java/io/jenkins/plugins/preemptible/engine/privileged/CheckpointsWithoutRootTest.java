package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import java.io.File;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

/** A user without root's rights makes checkpoints, with a real CRIU in a user namespace. */
class CheckpointsWithoutRootTest {

    private static PrivilegedHost host;

    @BeforeAll
    static void install() throws Exception {
        Optional<Criu> criu = new CriuSearch().usable();
        assumeTrue(criu.isPresent(), "no CRIU works on this host");
        host = PrivilegedHost.open(criu.get().program());
    }

    @AfterAll
    static void remove() throws Exception {
        if (host != null) {
            host.close();
        }
    }

    private static PrivilegedHost.Result live(String folder, int cycles, String... command) {
        List<String> words = new ArrayList<>(List.of(
                System.getProperty("java.home") + "/bin/java",
                "-XX:TieredStopAtLevel=1",
                "-cp",
                host.source.stream().map(Object::toString).collect(Collectors.joining(File.pathSeparator)),
                LifeWithCheckpoints.class.getName(),
                host.one.home().resolve(folder).toString(),
                Integer.toString(cycles)));
        words.addAll(List.of(command));
        return host.call(host.one, Map.of(), new byte[0], words);
    }

    @Test
    void aStageOfAUserIsDumpedAndRestoredAgainAndAgain() {
        PrivilegedHost.Result seen = live(
                "shell", 5, "/bin/sh", "-c", "i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done");
        System.err.println(seen.err());
        assertEquals(0, seen.code(), seen.all());
        List<String> cycles = seen.out().lines().filter(l -> l.startsWith("cycle=")).toList();
        assertEquals(5, cycles.size(), seen.all());
        for (int i = 0; i < 5; i++) {
            assertEquals(
                    "cycle=SUSPENDED LOCAL_IMAGE true " + (i % 2 == 0 ? "LOCAL_IMAGE" : "ARCHIVE")
                            + " RUNNING true 0 here|there|4|",
                    cycles.get(i));
        }
        for (String expected : List.of(
                "check=true  true", "started=RUNNING", "preflight=[]", "thawed=RUNNING false", "killed=KILLED",
                "forgotten=true", "quick=9 ENDED", "CapEff: 0000000000000000|", "NoNewPrivs: 1|")) {
            assertTrue(seen.out().contains(expected), expected + " in " + seen.all());
        }
        assertFalse(seen.out().contains("moved="), seen.all());
    }
}
