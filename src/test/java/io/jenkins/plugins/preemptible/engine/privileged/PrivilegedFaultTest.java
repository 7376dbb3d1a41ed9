package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.User;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What one user, or a call that was cut off, leaves behind must not harm the installed privileged part. */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PrivilegedFaultTest {

    private static final byte[] NOTHING = new byte[0];
    private static final ObjectMapper JSON = new ObjectMapper();

    private PrivilegedHost host;
    private User me;
    private Path odd;

    /** All of it on a host where some user made mounts that lie on each other, and whose names are odd. */
    @BeforeAll
    void install() throws Exception {
        host = PrivilegedHost.open();
        me = host.one;
        odd = Files.createDirectory(host.two.home().resolve("odd"));
        PrivilegedHost.root("chown", host.two.name(), odd.toString());
        mount("for each in one two; do mount -t tmpfs $each .; cd \"$1\"; done; mkdir below;"
                + " mount -t tmpfs three below; mount -t tmpfs four .; cd \"$1\";"
                + " for n in 'new\nline' 'back\\040slash' 'two words' \"$(printf 'no\\377text')\" 'end\n';"
                + " do mkdir \"$n\"; mount -t tmpfs five \"$n\"; done");
    }

    private void mount(String script) {
        PrivilegedHost.root("sh", "-c", "set -e; cd \"$1\"; " + script, "sh", odd.toString());
    }

    @AfterAll
    void remove() throws Exception {
        if (host != null) {
            // What is on a mount goes with it.
            while (HostTool.run(20, List.of("/bin/umount", "-l", odd.toString())).ok()) {}
            host.close();
        }
    }

    @Test
    void mountsThatHideEachOtherStopNobody() throws Exception {
        // Only here: criu itself does not understand this one.
        mount("mkdir 'car\rriage'; mount -t tmpfs six 'car\rriage'");
        try {
            start("mounts", "while :; do sleep 1; done");
        } finally {
            mount("umount 'car\rriage'");
        }
        long init = status("mounts").get("initPid").asLong();
        assertFalse(String.join("\n", Proc.mountInfo(init)).contains(odd.toString()), "none is in the stage");
        assertTrue(
                Proc.self("mountinfo").stream().filter(l -> l.contains(odd.toString())).count() >= 9,
                "all are on the host");
        kill("mounts");
    }

    @Test
    void nobodyLearnsWhatExists() throws Exception {
        Path closed = Files.createDirectory(host.base.resolve("closed"));
        Files.createDirectory(closed.resolve("there"));
        Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("rwx------"));
        String one = told(closed.resolve("there"));
        String other = told(closed.resolve("never"));
        assertTrue(one.contains("LAUNCH_FAILED"), one);
        assertEquals(one.replace("there", "never"), other);
    }

    private String told(Path work) throws IOException {
        return host.sudo(me, request("ask", "true", work), "start", "ask").out();
    }

    @Test
    void aRestoreThatWasCutOffGivesNoMoreRights() throws Exception {
        Path setuid = Files.copy(Path.of("/bin/sleep").toRealPath(), host.base.resolve("setuid"));
        PrivilegedHost.root("chmod", "4755", setuid.toString());
        start("cut", "head -c 3000000 /dev/urandom > /tmp/large; echo kept > /tmp/kept;"
                + " while [ ! -e more ]; do cat /tmp/kept; sleep 0.1; done; exec " + setuid + " 1000");
        until(() -> lines("cut") > 2);
        byte[] image = suspend("cut");
        Path stage = host.store(me).resolve("stages/cut");
        theTmpWasNotPacked(stage);
        long before = lines("cut");
        Result resumed = host.sudo(me, image, "resume", "cut");
        assertEquals(0, resumed.code(), resumed::all);
        until(() -> lines("cut") > before + 2);
        long init = status("cut").get("initPid").asLong();
        Files.createFile(me.home().resolve("more"));
        until(() -> Proc.tree(init).stream().anyMatch(s -> s.comm().equals("setuid")));
        // As whoever resumed leaves it when he is killed before he looked at the tree.
        StageFolder folder = new StageFolder(stage);
        folder.change(r -> r.withState(State.RESUMING).withInit(null));
        assertEquals("SUSPENDED", status("cut").get("state").asText());
        assertTrue(Proc.stat(init).isEmpty(), "nothing of it is left");
        // Its image is still good.
        Files.delete(me.home().resolve("more"));
        Result again = host.sudo(me, image, "resume", "cut");
        assertEquals(0, again.code(), again::all);
        folder.change(r -> r.withState(State.RESUMING).withInit(null));
        assertEquals("RUNNING", status("cut").get("state").asText(), "without more rights it is taken over");
        kill("cut");
    }

    private static void theTmpWasNotPacked(Path stage) throws IOException {
        List<Path> packed;
        try (Stream<Path> images = Files.list(stage.resolve("images"))) {
            packed = images.filter(p -> p.getFileName().toString().matches("tmpfs-.*tar\\.gz\\.img")).toList();
        }
        assertTrue(packed.stream().anyMatch(p -> p.toFile().length() > 3_000_000), packed::toString);
        for (Path each : packed) {
            try (InputStream in = Files.newInputStream(each)) {
                assertNotEquals(List.of(0x1f, 0x8b), List.of(in.read(), in.read()), "it was copied");
            }
        }
        // What root's PATH begins with is no user's.
        for (Path each : List.of(stage.resolve("tools"), stage.resolve("tools/gzip"))) {
            assertEquals(0, Files.getAttribute(each, "unix:uid"), each::toString);
            assertEquals("rwxr-xr-x", PosixFilePermissions.toString(Files.getPosixFilePermissions(each)));
        }
    }

    @Test
    void whatBrokeIsToldToTheAdministratorOnly() throws Exception {
        Path bad = Files.createDirectories(host.store(me).resolve("stages/bad"));
        Files.writeString(bad.resolve("stage.json"), "{");
        Path told = host.place.store().resolve("last-error.txt");
        try {
            // As an older one left it.
            Files.deleteIfExists(told);
            Files.createFile(told, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-r--r--")));
            Result result = host.sudo(me, NOTHING, "status", "bad");
            assertEquals(1, result.code(), result::all);
            assertTrue(Files.readString(told).contains("stage.json"));
            assertEquals("rw-------", PosixFilePermissions.toString(Files.getPosixFilePermissions(told)));
            assertNotEquals(0, host.shell(me, "cat \"$1\"", told.toString()).code());
        } finally {
            Files.deleteIfExists(told);
            StageFolder.delete(bad);
        }
    }

    // --- parts -------------------------------------------------------------------------------------------------------

    private Path folder(String id) throws IOException {
        Path folder = Files.createDirectories(me.home().resolve("stages").resolve(id));
        PrivilegedHost.root("chown", "-R", me.name() + ":", me.home().resolve("stages").toString());
        return folder;
    }

    private byte[] request(String id, String script, Path work) throws IOException {
        return JSON.writeValueAsBytes(new Wire.Start(
                id, work.toString(), List.of("/bin/sh", "-c", script), Map.of("PATH", "/usr/bin:/bin"), "REFUSE",
                folder(id).toString(), "0022"));
    }

    private void start(String id, String script) throws IOException {
        Result result = host.sudo(me, request(id, script, me.home()), "start", id);
        assertEquals(0, result.code(), result::all);
    }

    private byte[] suspend(String id) {
        String soon = "{\"memoryFloorBytes\":9000000000000000000}";
        Result dumped = null;
        for (String[] each : new String[][] {{"freeze", soon}, {"dump", "{}"}, {"commit", ""}}) {
            Result result = host.sudo(me, each[1].getBytes(StandardCharsets.US_ASCII), each[0], id);
            assertEquals(0, result.code(), result::all);
            dumped = each[0].equals("dump") ? result : dumped;
        }
        return dumped.out().substring(dumped.out().indexOf('\n') + 1).getBytes(StandardCharsets.ISO_8859_1);
    }

    private JsonNode status(String id) throws IOException {
        Result result = host.sudo(me, NOTHING, "status", id);
        assertEquals(0, result.code(), result::all);
        return JSON.readTree(result.out()).get("ok");
    }

    private void kill(String id) {
        host.sudo(me, NOTHING, "kill", id);
        host.sudo(me, NOTHING, "forget", id);
    }

    private long lines(String id) throws IOException {
        Path output = me.home().resolve("stages").resolve(id).resolve("output.log");
        return Files.exists(output) ? Files.readAllLines(output).stream().filter("kept"::equals).count() : 0;
    }

    private static void until(Callable<Boolean> condition) {
        Awaitility.await().atMost(Duration.ofSeconds(60)).until(condition);
    }
}
