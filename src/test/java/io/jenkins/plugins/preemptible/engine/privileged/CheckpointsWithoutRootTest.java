package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A user without root's rights makes checkpoints, with a real CRIU in a user namespace. */
@Tag("host")
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
        List<String> arguments =
                new ArrayList<>(List.of(host.one.home().resolve(folder).toString(), Integer.toString(cycles)));
        arguments.addAll(List.of(command));
        return host.java(host.one, LifeWithCheckpoints.class, arguments.toArray(String[]::new));
    }

    /** CRIU would wait for ten minutes. */
    @Test
    void aRestoreThatHangsEndsWithItsStage() {
        PrivilegedHost.Result seen = host.java(
                host.one, HangingRestore.class, host.one.home().resolve("hangs").toString());
        for (String expected : List.of("fifo=true", "hangs=true true", "killed=KILLED soon", "left=0")) {
            assertTrue(seen.out().contains(expected), expected + " in " + seen.all());
        }
        assertEquals(0, seen.code(), seen.all());
    }

    @Test
    void aStageOfAUserIsDumpedAndRestoredAgainAndAgain() {
        PrivilegedHost.Result seen =
                live("shell", 5, "/bin/sh", "-c", "i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done");
        System.err.println(seen.err());
        assertEquals(0, seen.code(), seen.all());
        List<String> cycles =
                seen.out().lines().filter(l -> l.startsWith("cycle=")).toList();
        assertEquals(5, cycles.size(), seen.all());
        for (int i = 0; i < 5; i++) {
            assertEquals(
                    "cycle=SUSPENDED LOCAL_IMAGE true " + (i % 2 == 0 ? "LOCAL_IMAGE" : "ARCHIVE")
                            + " RUNNING true 0 here|there|4|",
                    cycles.get(i));
        }
        for (String expected : List.of(
                "check=true  true",
                "started=RUNNING",
                "preflight=[]",
                "thawed=RUNNING false",
                "killed=KILLED",
                "forgotten=true",
                "quick=9 ENDED",
                "CapEff: 0000000000000000|",
                "NoNewPrivs: 1|")) {
            assertTrue(seen.out().contains(expected), expected + " in " + seen.all());
        }
        assertFalse(seen.out().contains("moved=") || seen.out().contains("otherwise="), seen.all());
    }

    /** A stage that has forked often, where the host's limit is the kernel's default, 32768. */
    @Test
    void processIdsBeyondTheHostsLimitAreRestored() {
        Path home = host.one.home().resolve("ids");
        String loop = "echo > begun; while [ $(sh -c \"echo \\$\\$\") -lt 40000 ]; do sleep 0.1; done;"
                + " i=0; while :; do i=$((i+1)); echo $i; sleep 0.05; done";
        PrivilegedHost.Result seen = host.within(
                "(until [ -e " + home + "/work/begun ] && nsenter -p -t $(pgrep -n -u " + host.one.name()
                        + " sleep) sh -c 'echo 40000 > /proc/sys/kernel/ns_last_pid'; do kill -0 $$ || exit; sleep 0.1; done)"
                        + " >/dev/null 2>&1 & true",
                host.one,
                "exec " + String.join(" ", host.javaCommand(LifeWithCheckpoints.class, home.toString(), "2"))
                        + " /bin/sh -c '" + loop + "'");
        assertEquals(0, seen.code(), seen.all());
        assertEquals(
                2,
                seen.out().lines().filter(l -> l.startsWith("cycle=SUSPENDED")).count(),
                seen.all());
    }

    /** A fuzzer that stands still says nothing, and one that ended ends the stage. */
    @Test
    @Tag("tools")
    void aflGoesOnThroughSuspensions() {
        assumeTrue(HostTool.find("afl-fuzz").isPresent(), "afl++ is not installed");
        assumeTrue(HostTool.find("afl-cc").isPresent(), "afl++'s compiler is not installed");
        PrivilegedHost.Result seen = live(
                "afl",
                4,
                "/bin/sh",
                "-c",
                "mkdir in; echo seed > in/a; printf '#include <unistd.h>\nint main(void){char c[9];"
                        + "if(read(0,c,9)>4&&c[0]==65&&c[1]==66)return 3;return 0;}' > t.c; afl-cc -o t t.c || exit 8; "
                        + "export AFL_NO_UI=1 AFL_SKIP_CPUFREQ=1 AFL_NO_AFFINITY=1 AFL_FUZZER_STATS_UPDATE_INTERVAL=1 "
                        + "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES=1; exec afl-fuzz -i in -o out -M a -t 5000 ./t");
        System.err.println(seen.err());
        assertEquals(0, seen.code(), seen.all());
        assertEquals(
                4,
                seen.out().lines().filter(l -> l.startsWith("cycle=SUSPENDED")).count(),
                seen.all());
        assertTrue(seen.out().contains("forgotten=true"), seen.all());
    }

    @Test
    @Tag("tools")
    void foldersOfRootsAreNeitherReadNorWritten() throws Exception {
        Path secret = Files.writeString(host.base.resolve("secret"), "of root's\n");
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        Path open = Files.createDirectory(host.base.resolve("open"));
        Path home = host.one.home();
        String start = "2\0/bin/sleep\0" + "1000\0" + "PATH=/bin\0";
        PrivilegedHost.Result started = host.shell(
                host.one,
                "printf '3\\0/bin/sh\\0-c\\0exec sleep 1000 <&- >&- 2>&-\\0' | sudo -n \"$1\" start links 2>&1 | head -1; mkdir i l;"
                        + " sudo -n \"$1\" freeze links",
                host.place.program().toString());
        assertTrue(started.all().contains("ok"), started.all());
        for (String[] folders : new String[][] {
            {"/root", home + "/l", ""},
            {open.toString(), home + "/l", ""},
            {home + "/i", open.toString(), ""},
            {home + "/i", home + "/l", "ln -s " + secret + " l/dump.log"},
            {home + "/i", home + "/l", "ln -s " + secret + " l/dump.out"},
            {home + "/i", home + "/l", "ln -s " + secret + " i/inventory.img"},
            {home + "/i", home + "/l", "rm -rf i; ln -s " + open + " i"},
        }) {
            PrivilegedHost.Result seen = host.shell(
                    host.one,
                    "rm -rf i l; mkdir i l; " + folders[2] + "; (printf '2\\0%s\\0%s\\0' \"$2\" \"$3\"; sleep 3)"
                            + " | sudo -n \"$1\" dump links",
                    host.place.program().toString(),
                    folders[0],
                    folders[1]);
            assertFalse(seen.out().contains("code 0"), String.join(" ", folders) + seen.all());
            assertEquals("of root's\n", Files.readString(secret));
            try (var entries = Files.list(open)) {
                assertEquals(0, entries.count());
            }
        }
        PrivilegedHost.Result good = host.shell(
                host.one,
                "rm -rf i l; mkdir i l; (printf '2\\0%s\\0%s\\0' \"$2\" \"$3\"; sleep 3) | sudo -n \"$1\" dump links",
                host.place.program().toString(),
                home + "/i",
                home + "/l");
        assertTrue(good.out().contains("code 0"), "in two good folders: " + good.all());
    }
}
