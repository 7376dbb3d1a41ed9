package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A whole life of a stage whose user is not root. */
@Tag("host")
class WithoutRootTest {

    @Test
    void aUserSuspendsAndResumesInMemory() throws Exception {
        try (PrivilegedHost host = PrivilegedHost.open()) {
            PrivilegedHost.Result life = host.call(
                    host.one,
                    Map.of(),
                    new byte[0],
                    List.of(
                            System.getProperty("java.home") + "/bin/java",
                            "-XX:TieredStopAtLevel=1",
                            "-cp",
                            host.base.resolve("packed") + "/*",
                            LifeOfAUser.class.getName(),
                            host.one.home().toString()));
            String uid = Long.toString(host.one.uid());
            String groups = PrivilegedHost.root("id", "-G", host.one.name()).trim();
            String gid = PrivilegedHost.root("id", "-g", host.one.name()).trim();
            List<String> said = life.out().lines().toList();
            assertEquals(0, life.code(), life::all);
            assertEquals("check=true ", said.get(0));
            assertTrue(
                    said.containsAll(List.of(
                            "started=RUNNING",
                            "preflight=true",
                            "frozen=SUSPENDING FROZEN true true true",
                            "still=0",
                            "entering=STAGE_BUSY",
                            "here=FROZEN 1",
                            "here=FROZEN 2",
                            "here=FROZEN 3",
                            "objection=OBJECTION",
                            "short=MEMORY_SHORT",
                            "dump=MEMORY_ONLY",
                            "commit=NO_CHECKPOINT",
                            "waiting=SUSPENDING",
                            "thaw=NO_CHECKPOINT",
                            "resume=STAGE_RUNS",
                            "again=BAD_SPEC",
                            "forget=STAGE_RUNS",
                            "program=BAD_SPEC",
                            "killed=KILLED 137",
                            "forgotten=true",
                            "quick=9 ENDED")),
                    life::all);
            List<String> rights =
                    said.stream().filter(l -> l.startsWith("rights=")).toList();
            assertEquals(2, rights.size(), life::all);
            assertEquals(rights.get(0), rights.get(1), "the rights are the same after all suspensions");
            assertTrue(rights.get(0).contains("Uid: " + uid + " " + uid + " " + uid + " " + uid + "|"), life::all);
            assertTrue(rights.get(0).contains("Gid: " + gid + " " + gid + " " + gid + " " + gid + "|"), life::all);
            assertEquals(
                    Set.of(groups.split(" ")),
                    Set.of(rights.get(0)
                            .replaceAll(".*Groups: ([0-9 ]*)\\|.*", "$1")
                            .trim()
                            .split(" ")));
            assertTrue(rights.get(0).contains("NoNewPrivs: 1|"), life::all);
            assertEquals(4, rights.get(0).split("Cap[A-Z][a-z]+: 0000000000000000\\|", -1).length - 1, life::all);
            String entered = said.stream()
                    .filter(l -> l.startsWith("entered="))
                    .findFirst()
                    .orElseThrow();
            assertTrue(
                    entered.startsWith("entered=3 " + uid + "|" + groups + "|" + host.one.home() + "/work|"), entered);
            assertTrue(entered.contains("|a  b|c x;'\"$(id)|CapEff:\t0000000000000000|"), entered);
        }
    }
}
