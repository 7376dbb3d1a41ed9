package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.MountsSeen;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.User;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What an attacker has who took CRIU over: {@code hijacked.c} is installed in its place, and tries to get further. */
@Tag("host")
class HijackedCriuTest {

    private static final byte[] NOTHING = new byte[0];
    private static final String SECRET = "of root's\n";

    private static PrivilegedHost host;
    private static Path roots;
    private static Path secret;
    private static Path trace;
    private static Process outside;
    private static Process others;
    private static long group;

    @BeforeAll
    static void install() throws Exception {
        Optional<Criu> criu = new CriuSearch().usable();
        assumeTrue(criu.isPresent(), "no CRIU works on this host");
        host = PrivilegedHost.open(criu.get().program());
        Path source = host.base.resolve("hijacked.c");
        try (InputStream in = HijackedCriuTest.class.getResourceAsStream("hijacked.c");
                InputStream header = PrivilegedInstall.class.getResourceAsStream("helper/broker.h")) {
            Files.copy(in, source);
            Files.copy(header, host.base.resolve("broker.h"));
        }
        PrivilegedHost.root(
                "cc", "-w", "-O1", "-o", host.base.resolve("hijacked").toString(), source.toString(), "-lutil");
        Files.delete(host.place.library().resolve("criu"));
        Files.move(host.base.resolve("hijacked"), host.place.library().resolve("criu"));
        roots = Files.createDirectory(host.base.resolve("roots"));
        secret = Files.writeString(roots.resolve("secret"), SECRET);
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        Path grouped = Files.writeString(host.base.resolve("grouped"), SECRET);
        Files.setPosixFilePermissions(grouped, PosixFilePermissions.fromString("rw-r-----"));
        Path foreign = Files.writeString(host.two.home().resolve("foreign"), "of another's\n");
        PrivilegedHost.root("chown", host.two.name() + ":", foreign.toString());
        PrivilegedHost.root("chmod", "600", foreign.toString());
        trace = host.one.home().resolve("trace");
        group = Long.parseLong(PrivilegedHost.root("id", "-g", host.one.name()).trim());
        outside = sleeping(host.one);
        others = sleeping(host.two);
        start("own");
        start("second");
    }

    @AfterAll
    static void remove() throws Exception {
        for (Process each : Stream.of(outside, others).filter(p -> p != null).toList()) {
            each.destroyForcibly();
        }
        if (host != null) {
            host.close();
        }
    }

    private static Process sleeping(User user) throws Exception {
        return new ProcessBuilder(
                        "setpriv", "--reuid", user.name(), "--regid", user.name(), "--init-groups", "sleep", "1000")
                .start();
    }

    private static void start(String id) {
        Result started = host.sudo(host.one, request("exec <&- >&- 2>&-; exec sleep 1000"), "start", id);
        assertEquals(0, started.code(), started.all());
    }

    private static byte[] request(String script) {
        return ("3\0/bin/sh\0-c\0" + script + "\0PATH=/usr/bin:/bin\0").getBytes(StandardCharsets.UTF_8);
    }

    private static String value(String id, String name) {
        return host.sudo(host.one, NOTHING, "status", id)
                .out()
                .lines()
                .filter(l -> l.startsWith(name + " "))
                .map(l -> l.substring(name.length() + 1))
                .findFirst()
                .orElse("");
    }

    /** Calls the verb with folders that tell the hijacked CRIU what to do. */
    private static Result call(String verb, String id, String mode) throws Exception {
        String top = value("second", "group").replaceAll("/[^/]*$", "");
        Map<String, Object> settings = Map.ofEntries(
                Map.entry("mode", mode),
                Map.entry("secret", secret),
                Map.entry("roots", roots),
                Map.entry("home", host.one.home()),
                Map.entry("mine", host.one.home().resolve("mine")),
                Map.entry("foreign", host.two.home().resolve("foreign")),
                Map.entry("others", host.two.home()),
                Map.entry("grouped", host.base.resolve("grouped")),
                Map.entry("store", host.place.store()),
                Map.entry("rule", host.place.rule()),
                Map.entry("program", host.place.program()),
                Map.entry("library", host.place.library()),
                Map.entry("uid", host.one.uid()),
                Map.entry("gid", group),
                Map.entry("top", top),
                Map.entry("own-group", value("own", "group")),
                Map.entry("second-group", value("second", "group")),
                Map.entry("second-init", value("second", "init")),
                Map.entry("users-process", outside.pid()),
                Map.entry("others-process", others.pid()),
                Map.entry("trace", trace));
        StringBuilder text = new StringBuilder();
        settings.forEach(
                (name, setting) -> text.append(name).append('=').append(setting).append('\n'));
        return host.shell(
                host.one,
                "rm -rf i l done; mkdir i l; echo mine > mine; printf %s \"$4\" > i/settings; (printf '2\\0%s\\0%s\\0' \"$PWD/i\""
                        + " \"$PWD/l\"; until [ -e done ]; do sleep 0.05; done) | { sudo -n \"$1\" \"$2\" \"$3\"; code=$?;"
                        + " touch done; exit $code; }",
                host.place.program().toString(),
                verb,
                id,
                text.toString());
    }

    @ParameterizedTest
    @ValueSource(strings = {"dump", "restore"})
    void aHijackedCriuDoesNotGetOut(String verb) throws Exception {
        List<String> mounts = MountsSeen.now(host.base);
        if (verb.equals("dump")) {
            assertEquals(0, host.sudo(host.one, NOTHING, "freeze", "own").code());
        }
        Result called = call(verb, verb.equals("dump") ? "own" : "again", "tries");
        List<String> tried = Files.readAllLines(host.one.home().resolve("l/tries"));
        assertTrue(
                called.out().contains(verb.equals("dump") ? "code 1" : "refused CRIU_FAILED code 1"),
                () -> called.all() + tried.get(tried.size() - 1));
        assertTrue(
                tried.size() > 250 && tried.get(tried.size() - 1).startsWith("end\t"), () -> tried.size() + " tries");
        assertEquals(
                "",
                String.join(
                        "\n", tried.stream().filter(t -> t.endsWith("WORKS")).toList()));
        assertEquals(mounts, MountsSeen.now(host.base));
        assertEquals("running", value("second", "state"));
        assertEquals(verb.equals("dump") ? "frozen" : value("own", "state"), value("own", "state"));
        System.err.println(verb + ": " + tried.size() + " tries");
    }

    @Test
    void whatAHijackedCriuLeavesBehindIsEnded() throws Exception {
        Result called = call("restore", "left", "left");
        assertEquals(0, called.code(), called.all());
        assertEquals("running", value("left", "state"));
        assertEquals(
                List.of(value("left", "init")), Files.readAllLines(Path.of(value("left", "group"), "cgroup.procs")));
        end("left");
    }

    /** As a process of the stage, with the rights of CRIU, made after root has looked at the stage. */
    @Test
    void aStageThatHasMoreRightsAfterwardsIsEnded() throws Exception {
        Result called = call("restore", "late", "late");
        assertTrue(called.out().matches("refused IMAGE_UNUSABLE the stage is not let run: .*\n"), called.all());
        assertFalse(Files.exists(host.store(host.one).resolve("late")), "nothing of it is left");
    }

    /** Root waits for nothing that a hijacked CRIU keeps from happening. */
    @ParameterizedTest
    @ValueSource(strings = {"fill", "drain"})
    void aHijackedCriuDoesNotHoldRootUp(String mode) throws Exception {
        long start = System.nanoTime();
        Result called = call("restore", mode, mode);
        assertTrue(called.out().startsWith("refused "), called.all());
        long seconds = (System.nanoTime() - start) / 1_000_000_000;
        assertTrue(seconds < 60, () -> seconds + " s");
        assertFalse(Files.exists(host.store(host.one).resolve(mode)), "nothing of it is left");
    }

    private static void end(String id) {
        assertEquals(0, host.sudo(host.one, NOTHING, "kill", id).code());
        assertEquals(0, host.sudo(host.one, NOTHING, "forget", id).code());
    }

    @AfterEach
    void nothingOfRootIsLost() throws Exception {
        assertEquals(SECRET, Files.readString(secret));
        try (Stream<Path> files = Files.list(roots)) {
            assertEquals(List.of(secret), files.toList());
        }
        assertEquals("of another's\n", Files.readString(host.two.home().resolve("foreign")));
        assertTrue(outside.isAlive() && others.isAlive());
        String substitute = Long.toString(2100000000L + host.one.uid());
        for (Proc.Stat each : Proc.all()) {
            boolean ended = Proc.statusWords(each.pid(), "State").stream().anyMatch(s -> s.equals("Z"));
            assertFalse(
                    !ended && Proc.statusWords(each.pid(), "Uid").contains(substitute),
                    () -> each + " is the substitute's");
        }
        long length = Files.exists(trace) ? Files.size(trace) : 0;
        Thread.sleep(20);
        assertEquals(length, Files.exists(trace) ? Files.size(trace) : 0, "nothing of CRIU's runs on");
        try (Stream<Path> files = Files.walk(host.one.home())) {
            for (Path file : files.toList()) {
                Object owner = Files.getAttribute(file, "unix:uid", java.nio.file.LinkOption.NOFOLLOW_LINKS);
                assertTrue(
                        owner.equals((int) host.one.uid()) || owner.equals((int) Long.parseLong(substitute)),
                        file + " is of " + owner);
            }
        }
    }
}
