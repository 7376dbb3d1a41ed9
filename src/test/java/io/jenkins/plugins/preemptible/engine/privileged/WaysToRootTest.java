package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageArchive;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.User;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Ways from the agent's user to root, each tried for real against the installed privileged part; all have to fail.
 *
 * <p>After each one root's secret is unread and unchanged, nothing was made by root where the user wanted it, no process
 * of a stage has more rights than its user, and the privileged part still works. Each call starts a Java and each
 * suspension a CRIU: all ways together take minutes, so the default run has a few of them.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class WaysToRootTest {

    private static final byte[] NOTHING = new byte[0];
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String SECRET = "the-secret-of-root";
    private static final String SOON = "{\"memoryFloorBytes\":9000000000000000000}";
    private static final String TICKS = "while :; do echo x; sleep 0.2; done";

    private static final Set<String> EVERY_TIME = Set.of(
            "a verb that is an option",
            "an id that climbs",
            "the program without sudo",
            "another program by the same rule",
            "a forged SUDO_UID",
            "variables for Java, the loader and the shell",
            "a working folder with files for Java",
            "kill of another user's stage",
            "entering another user's stage",
            "a request with a class in it",
            "a umask with a command",
            "a working folder of root's alone",
            "an installation from files of the user's",
            "an open file that root would inherit",
            "an open file that becomes a link to root's");

    private PrivilegedHost host;
    private User me;
    private User other;
    private Path roots;
    private Path secret;
    private long mine;

    @BeforeAll
    void install() throws Exception {
        host = PrivilegedHost.open();
        me = host.one;
        other = host.two;
        roots = Files.createDirectory(host.base.resolve("roots"));
        secret = Files.writeString(roots.resolve("secret"), SECRET);
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        start(me, "mine", TICKS);
        start(other, "theirs", TICKS);
        mine = status(me, "mine").get("initPid").asLong();
    }

    @AfterAll
    void remove() throws Exception {
        if (host != null) {
            host.close();
        }
    }

    /** One way; its body asserts that it was refused, or that it gave no more than the user has. */
    private interface Way {
        void go() throws Exception;
    }

    private Stream<Arguments> everyTime() {
        Map<String, Way> ways = ways();
        assertTrue(ways.keySet().containsAll(EVERY_TIME), () -> EVERY_TIME + " of " + ways.keySet());
        return ways.entrySet().stream().filter(w -> EVERY_TIME.contains(w.getKey())).map(WaysToRootTest::named);
    }

    private Stream<Arguments> theOthers() {
        return ways().entrySet().stream().filter(w -> !EVERY_TIME.contains(w.getKey())).map(WaysToRootTest::named);
    }

    private static Arguments named(Map.Entry<String, Way> way) {
        return Arguments.of(way.getKey(), way.getValue());
    }

    private Map<String, Way> ways() {
        Map<String, Way> ways = new LinkedHashMap<>();
        words(ways);
        environment(ways);
        strangers(ways);
        requests(ways);
        paths(ways);
        entering(ways);
        images(ways);
        swaps(ways);
        processes(ways);
        return ways;
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("everyTime")
    void aWayToRootIsClosed(String name, Way way) throws Exception {
        way.go();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("theOthers")
    @Tag("tools")
    void anotherWayToRootIsClosed(String name, Way way) throws Exception {
        way.go();
    }

    @AfterEach
    void nothingOfRootIsLost() throws Exception {
        assertEquals(SECRET, Files.readString(secret));
        try (Stream<Path> files = Files.list(roots)) {
            assertEquals(List.of(secret), files.toList(), "nobody made a file where only root may");
        }
        for (User user : List.of(me, other)) {
            try (Stream<Path> files = Files.walk(user.home())) {
                for (Path file : files.toList()) {
                    if (file.getFileName().toString().startsWith("pwned")) {
                        assertNotEquals(0, Files.getAttribute(file, "unix:uid", java.nio.file.LinkOption.NOFOLLOW_LINKS));
                    }
                }
            }
        }
        for (Proc.Stat each : Proc.tree(mine)) {
            List<String> ids = Proc.statusWords(each.pid(), "Uid");
            assertTrue(ids.isEmpty() || ids.stream().allMatch(Long.toString(me.uid())::equals), ids::toString);
        }
    }

    // --- words -------------------------------------------------------------------------------------------------------

    private void words(Map<String, Way> ways) {
        Map<String, List<String>> wrong = new TreeMap<>(Map.of(
                "no arguments", List.of(),
                "an unknown verb", List.of("shell", "mine"),
                "a verb that is an option", List.of("--action-script=/bin/sh", "mine"),
                "more arguments than there are", List.of("status", "mine", "--root=/"),
                "an id that climbs", List.of("kill", "../../../../etc"),
                "an absolute id", List.of("status", "/etc/shadow"),
                "an id that is an option", List.of("status", "--help"),
                "an id of two lines", List.of("status", "mine\nmine"),
                "an id of four thousand characters", List.of("status", "a".repeat(4000)),
                "an id of other letters", List.of("status", "m\u0131ne")));
        wrong.forEach((name, words) -> ways.put(name, () -> {
            Result result = host.sudo(me, NOTHING, words.toArray(String[]::new));
            assertEquals(2, result.code(), result::all);
            assertEquals("", result.out());
        }));
        ways.put("the program without sudo", () -> {
            Result result = host.shell(me, "SUDO_UID=0 " + host.place.program() + " list");
            assertEquals(2, result.code(), result::all);
        });
        ways.put("sudo as another user", () -> {
            Result result = host.shell(me, "sudo -n -u " + other.name() + " " + host.place.program() + " list");
            assertEquals(1, result.code(), result::all);
        });
        ways.put("another program by the same rule", () -> {
            Result result = host.shell(me, "sudo -n /bin/sh -c 'touch \"$1\"' sh " + roots + "/pwned; sudo -n "
                    + host.place.library() + "/criu --version; sudo -n " + host.place.program() + "/../../../bin/sh");
            assertNotEquals(0, result.code(), result::all);
            assertFalse(result.all().contains("Version:"), result::all);
        });
    }

    // --- environment -------------------------------------------------------------------------------------------------

    private void environment(Map<String, Way> ways) {
        ways.put("a forged SUDO_UID", () -> {
            Result result = host.call(me, Map.of("SUDO_UID", "0", "SUDO_USER", "root"), NOTHING, sudo("list"));
            assertTrue(result.out().contains("\"mine\"") && !result.out().contains("\"theirs\""), result::all);
            assertFalse(Files.exists(host.place.store().resolve("0")));
        });
        ways.put("variables for sudo itself", () -> {
            assertEquals(1, host.shell(me, "sudo -n SUDO_UID=0 " + host.place.program() + " list").code());
            assertEquals(1, host.shell(me, "sudo -n -E " + host.place.program() + " list").code());
        });
        ways.put("variables for Java, the loader and the shell", () -> {
            Path evil = script(me, "evil", "touch " + me.home() + "/pwned-environment");
            Map<String, String> variables = new TreeMap<>();
            for (String name : List.of("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "_JAVA_OPTIONS")) {
                variables.put(name, "-XX:OnOutOfMemoryError=" + evil + " -Xlog:all -XX:+PrintFlagsFinal");
            }
            variables.put("LD_PRELOAD", evil.toString());
            variables.put("LD_LIBRARY_PATH", me.home().toString());
            variables.put("BASH_ENV", evil.toString());
            variables.put("ENV", evil.toString());
            variables.put("IFS", "/");
            variables.put("TMPDIR", me.home().toString());
            variables.put("HOME", me.home().toString());
            variables.put("CLASSPATH", me.home().toString());
            Result result = host.call(me, variables, NOTHING, sudo("list"));
            assertEquals(0, result.code(), result::all);
            assertFalse(result.all().contains("Picked up"), result::all);
            assertFalse(Files.exists(me.home().resolve("pwned-environment"))
                    && ownerOf(me.home().resolve("pwned-environment")) == 0);
        });
        ways.put("a PATH with programs of its own", () -> {
            Path fakes = Files.createDirectories(me.home().resolve("fakes"));
            for (String tool : List.of("criu", "unshare", "setpriv", "mount", "umount", "id", "env", "java", "cat", "tar")) {
                script(me, "fakes/" + tool, "touch " + me.home() + "/pwned-path-" + tool);
            }
            Map<String, String> variables = Map.of(
                    "PATH", fakes + ":/usr/bin:/bin",
                    "PREEMPTIBLE_CRIU", fakes + "/criu",
                    "PREEMPTIBLE_PREFIX", fakes.toString(),
                    "PREEMPTIBLE_HOME", me.home().toString(),
                    "PREEMPTIBLE_TMP", "1;touch");
            String body = request(me, "path", Map.of("PATH", fakes.toString()), List.of("/bin/sh", "-c", TICKS), me.home());
            assertEquals(0, host.call(me, variables, bytes(body), sudo("start", "path")).code());
            assertEquals(0, host.call(me, variables, bytes(SOON), sudo("freeze", "path")).code());
            assertEquals(0, host.call(me, variables, bytes("{}"), sudo("dump", "path")).code());
            kill(me, "path");
            try (Stream<Path> made = Files.list(me.home())) {
                for (Path each : made.filter(p -> p.toString().contains("pwned-path")).toList()) {
                    assertNotEquals(0, ownerOf(each), each::toString);
                }
            }
        });
        ways.put("a working folder with files for Java", () -> {
            write(me, ".hotspotrc", "+PrintFlagsFinal");
            write(me, "jvm.cfg", "-evil KNOWN");
            Result result = host.shell(me, "cd " + me.home() + " && sudo -n " + host.place.program() + " list");
            assertTrue(result.code() == 0 && !result.out().contains("PrintFlagsFinal"), result::all);
        });
        ways.put("limits that let writes fail", () -> {
            host.shell(me, "ulimit -f 0; sudo -n " + host.place.program() + " kill none; sudo -n " + host.place.program()
                    + " freeze mine < " + file(me, "soon", SOON) + "; ulimit -v 200000; sudo -n " + host.place.program()
                    + " list");
            Result thawed = host.sudo(me, NOTHING, "thaw", "mine");
            assertTrue(thawed.code() <= 1, thawed::all);
            assertEquals("RUNNING", status(me, "mine").get("state").asText());
        });
        ways.put("closed standard descriptors", () -> {
            Result result = host.shell(me, "sudo -n " + host.place.program() + " kill none <&- >&- 2>&-; sudo -n "
                    + host.place.program() + " start mine <&-");
            assertNotEquals(0, result.code(), result::all);
        });
    }

    // --- stages of others --------------------------------------------------------------------------------------------

    private void strangers(Map<String, Way> ways) {
        for (String verb : List.of("status", "kill", "freeze", "forget", "thaw", "commit", "resume-here", "preflight")) {
            ways.put(verb + " of another user's stage", () -> {
                Result result = host.sudo(me, bytes(SOON), verb, "theirs");
                assertEquals(1, result.code(), result::all);
                assertTrue(result.out().contains("UNKNOWN_STAGE"), result::all);
                assertEquals("RUNNING", status(other, "theirs").get("state").asText());
            });
        }
        ways.put("entering another user's stage", () -> {
            Result result = host.sudo(me, bytes("0022\0/\0" + "1\0id\0"), "enter", "theirs");
            assertEquals(125, result.code(), result::all);
            assertEquals("", result.out());
        });
        ways.put("an image for another user's stage", () -> {
            Result result = host.sudo(me, new byte[1000], "resume", "theirs");
            assertTrue(result.out().contains("UNKNOWN_STAGE"), result::all);
        });
    }

    // --- requests ----------------------------------------------------------------------------------------------------

    private void requests(Map<String, Way> ways) {
        Map<String, byte[]> wrong = new LinkedHashMap<>();
        wrong.put("an empty request", NOTHING);
        wrong.put("a request that is null", bytes("null"));
        wrong.put("a request that is no JSON", bytes("{\"name\":"));
        wrong.put("a request with a class in it", bytes("{\"@class\":\"java.lang.ProcessBuilder\",\"command\":[\"sh\"]}"));
        wrong.put("a request with fields of root's", bytes("{\"uid\":0,\"folder\":\"/\",\"workDir\":\"/\"}"));
        wrong.put("a relative folder", bytes(request(me, "x", Map.of(), List.of("id"), Path.of("roots"))));
        wrong.put("a umask with a command", bytes(request(me, "x", Map.of(), List.of("id"), me.home())
                .replace("\"0022\"", "\"0022; touch " + roots + "/pwned\"")));
        wrong.put("a NUL in the folder", bytes(request(me, "x", Map.of(), List.of("id"), me.home())
                .replace("\"workDir\":\"", "\"workDir\":\"/\\u0000")));
        wrong.forEach((name, body) -> ways.put(name, () -> {
            Result result = host.sudo(me, body, "start", "wrong");
            assertEquals(2, result.code(), result::all);
            assertFalse(Files.exists(host.store(me).resolve("stages/wrong")));
        }));
        ways.put("a request without end", () -> {
            // It could be served as it is, but for its length.
            String body = request(me, "endless", Map.of(), List.of("id"), me.home());
            Result result = host.sudo(me, bytes(body + " ".repeat(Wire.LARGEST_REQUEST)), "start", "endless");
            assertEquals(2, result.code(), result::all);
            assertTrue(result.err().contains("has more than " + Wire.LARGEST_REQUEST), result::all);
            assertFalse(Files.exists(host.store(me).resolve("stages/endless")));
            assertEquals(0, host.sudo(me, bytes(body + " "), "start", "endless").code());
            kill(me, "endless");
        });
        ways.put("a NUL in the command", () -> {
            String body = request(me, "x", Map.of(), List.of("a\0b"), me.home());
            Result result = host.sudo(me, bytes(body), "start", "nul");
            assertNotEquals(0, result.code(), result::all);
            assertFalse(Files.exists(host.store(me).resolve("stages/nul")));
        });
        ways.put("names that are options and commands", () -> {
            Path odd = own(me, Files.createDirectories(me.home().resolve("--root")));
            Map<String, String> variables = new TreeMap<>(Map.of(
                    "PATH", "/usr/bin:/bin",
                    "LD_PRELOAD", me.home() + "/evil.so",
                    "A;touch " + roots + "/pwned", "x",
                    "PREEMPTIBLE_ENTRY_1", "PATH=/nowhere",
                    "VALUE", "$(touch " + roots + "/pwned)`touch " + me.home() + "/pwned-value`\"'\n;"));
            String body = request(me, "--action-script=/bin/sh", variables,
                    List.of("/bin/sh", "-c", "echo \"$VALUE\" > value; exec sleep 1000"), odd);
            assertEquals(0, host.sudo(me, bytes(body), "start", "odd").code());
            // Root's own process in front of the stage has not seen any of it.
            long outer = Proc.stat(status(me, "odd").get("initPid").asLong()).orElseThrow().ppid();
            List<String> seen = List.of(Files.readString(Path.of("/proc/" + outer + "/environ")).split("\0"));
            assertTrue(seen.stream().noneMatch(v -> v.startsWith("LD_PRELOAD=") || v.startsWith("A;")), seen::toString);
            assertTrue(host.sudo(me, bytes(SOON), "freeze", "odd").out().contains("\"ok\""));
            assertTrue(host.sudo(me, bytes("{}"), "dump", "odd").out().startsWith("{\"ok\""));
            kill(me, "odd");
            assertFalse(Files.exists(me.home().resolve("pwned-value")));
            assertEquals(variables.get("VALUE") + "\n", Files.readString(odd.resolve("value")));
        });
    }

    // --- paths -------------------------------------------------------------------------------------------------------

    private void paths(Map<String, Way> ways) {
        ways.put("a working folder of root's alone", () -> {
            Result result = host.sudo(
                    me, bytes(request(me, "closed", Map.of(), List.of("id"), host.store(me))), "start", "closed");
            assertEquals(1, result.code(), result::all);
            assertTrue(result.out().contains("LAUNCH_FAILED"), result::all);
        });
        ways.put("output and exit code behind links to root's files", () -> {
            Path folder = folder(me, "links");
            for (String name : List.of("output.log", "exit", "exit.tmp", "ready")) {
                Files.createSymbolicLink(folder.resolve(name), secret);
            }
            Result result = host.sudo(
                    me, bytes(request(me, "links", Map.of(), List.of("/bin/echo", "x"), me.home())), "start", "links");
            assertEquals(1, result.code(), result::all);
            assertTrue(result.out().contains("output.log: Permission denied"), result::all);
            kill(me, "links");
        });
        ways.put("a stage folder that is root's", () -> {
            String body = request(me, "etc", Map.of(), List.of("/bin/echo", "x"), me.home())
                    .replaceAll("\"folder\":\"[^\"]*\"", "\"folder\":\"" + roots + "\"");
            Result result = host.sudo(me, bytes(body), "start", "etc");
            assertEquals(1, result.code(), result::all);
            assertTrue(result.out().contains("Permission denied"), result::all);
            kill(me, "etc");
        });
        ways.put("a working folder that becomes a link to root's while it is entered", () -> {
            Path racing = me.home().resolve("racing");
            Process flip = new ProcessBuilder("/bin/sh", "-c",
                    "cd \"$1\"; mkdir -p honest; while :; do ln -sfn honest racing; ln -sfn \"$2\" racing; done",
                    "sh", me.home().toString(), host.store(me).toString()).start();
            try {
                int started = 0;
                for (int i = 0; i < 3 || (started == 0 && i < 30); i++) {
                    String id = "race" + i;
                    Result result = host.sudo(me, bytes(request(me, id, Map.of(), List.of(), racing)), "start", id);
                    if (result.code() == 0) {
                        started++;
                        long init = status(me, id).get("initPid").asLong();
                        Path at = Path.of("/proc/" + init + "/cwd").toRealPath();
                        assertFalse(at.startsWith(host.place.store()), at::toString);
                    }
                    kill(me, id);
                }
                assertTrue(started > 0, "no stage started in the honest folder");
            } finally {
                flip.destroyForcibly().waitFor();
                Files.deleteIfExists(racing);
            }
        });
        ways.put("reading images, keys and records", () -> {
            Path store = host.store(me);
            Result result = host.shell(me, "for f in \"$@\"; do cat \"$f\" || ls \"$f\"; done",
                    store.toString(), store + "/sealed/host.key", store + "/stages/mine/stage.json",
                    store + "/stages/mine/criu/dump.log", host.place.store() + "/tmp");
            assertEquals("", result.out(), result::all);
        });
        ways.put("writing to what is installed", () -> {
            Result result = host.shell(me, "for f in \"$@\"; do echo x > \"$f\" || mv \"$f\" \"$f.old\"; done",
                    host.place.program().toString(), host.place.library() + "/criu", host.jars + "/0.jar",
                    host.place.rule().toString(), host.place.store() + "/view/seen/x", host.place.store() + "/x");
            assertNotEquals(0, result.code(), result::all);
            assertTrue(host.sudo(me, NOTHING, "list").out().startsWith("{\"ok\""));
        });
        ways.put("an installation from files of the user's", () -> {
            Path own = script(me, "criu", "touch " + me.home() + "/pwned-criu");
            Path below = Files.copy(host.criu, Files.createDirectory(me.home().resolve("programs")).resolve("criu"));
            Path writable = Files.copy(host.criu, host.base.resolve("writable"));
            Files.setPosixFilePermissions(writable, PosixFilePermissions.fromString("rwxrwxr-x"));
            Path jar = write(me, "engine.jar", "");
            List<Path> jars = new ArrayList<>(host.source);
            jars.add(jar);
            for (Path criu : List.of(own, below, writable)) {
                refused(host.source, criu, criu);
            }
            refused(jars, host.criu, jar);
            assertTrue(host.sudo(me, NOTHING, "list").out().startsWith("{\"ok\""));
            host.place.install("%" + host.group, host.source, host.criu);
            assertTrue(host.sudo(me, NOTHING, "list").out().startsWith("{\"ok\""));
        });
    }

    private void refused(List<Path> jars, Path criu, Path why) {
        String words = assertThrows(
                        PrivilegedInstall.RefusedInstall.class,
                        () -> host.place.install("%" + host.group, jars, criu))
                .getMessage();
        assertTrue(words.contains("could change " + why), words);
    }

    // --- entering ----------------------------------------------------------------------------------------------------

    private void entering(Map<String, Way> ways) {
        ways.put("more rights by entering", () -> {
            Result result = host.sudo(me, bytes("0022\0/\0" + "3\0/bin/sh\0-c\0cat /proc/self/status; cat " + secret
                    + "; ls /proc/self/fd\0PATH=/bin:/usr/bin\0"), "enter", "mine");
            assertTrue(result.out().matches("(?s).*Uid:(\\s+" + me.uid() + "){4}\n.*CapEff:\\s+0{16}\n.*"), result::all);
            assertFalse(result.all().contains(SECRET));
        });
        Map<String, byte[]> wrong = new LinkedHashMap<>();
        wrong.put("a count that lies", bytes("0022\0/\0" + "99\0id\0"));
        wrong.put("a command that is cut off", bytes("0022\0/\0" + "1\0id"));
        wrong.put("a count below nothing", bytes("0022\0/\0" + "-1\0id\0"));
        wrong.put("bytes that are no text", new byte[] {'0', '2', '2', 0, '/', 0, '1', 0, (byte) 0xC0, (byte) 0x80, 0});
        wrong.put("a umask that is a command to enter with", bytes("$(id)\0/\0" + "1\0id\0"));
        wrong.forEach((name, body) -> ways.put(name, () -> {
            Result result = host.sudo(me, body, "enter", "mine");
            assertEquals(2, result.code(), result::all);
            assertEquals("", result.out());
        }));
        ways.put("an open file that root would inherit", () -> {
            Result result = host.shell(me, "printf '%s\\0' 0022 / 2 ls /proc/self/fd PATH=/bin | sudo -n "
                    + host.place.program() + " enter mine 7< /etc/passwd 8> " + me.home() + "/eight");
            assertEquals(0, result.code(), result::all);
            List<String> open = result.out().lines().toList();
            assertTrue(open.containsAll(List.of("0", "1", "2")), result::all);
            assertFalse(open.contains("7") || open.contains("8"), result::all);
        });
    }

    // --- images ------------------------------------------------------------------------------------------------------

    private void images(Map<String, Way> ways) {
        ways.put("images that this host did not seal for this user, stage and moment", () -> {
            start(me, "sealed", TICKS);
            byte[] old = suspend(me, "sealed");
            assertTrue(host.sudo(me, old, "resume", "sealed").out().startsWith("{\"ok\""));
            byte[] image = suspend(me, "sealed");
            start(me, "second", TICKS);
            byte[] second = suspend(me, "second");
            start(other, "sealed", TICKS);
            byte[] foreign = suspend(other, "sealed");
            byte[] changed = image.clone();
            changed[changed.length / 2] ^= 1;
            Map<String, byte[]> wrong = new LinkedHashMap<>();
            wrong.put("the one before", fitted(old, image.length));
            wrong.put("of another stage", fitted(second, image.length));
            wrong.put("of another user", fitted(foreign, image.length));
            wrong.put("changed", changed);
            wrong.put("cut off", Arrays.copyOf(image, image.length - 1));
            wrong.put("too long", Arrays.copyOf(image, image.length + 1));
            wrong.put("nothing", NOTHING);
            wrong.put("no image", new byte[image.length]);
            for (Map.Entry<String, byte[]> each : wrong.entrySet()) {
                Result result = host.sudo(me, each.getValue(), "resume", "sealed");
                assertEquals(1, result.code(), () -> each.getKey() + ": " + result.all());
                assertTrue(result.out().contains("IMAGE_"), () -> each.getKey() + ": " + result.all());
                assertEquals("SUSPENDED", status(me, "sealed").get("state").asText(), each.getKey());
            }
            // The length alone is no barrier that counts: the note is made to fit, as an attacker's luck would.
            for (byte[] each : List.of(old, second, foreign, crafted(ImageKey.generate(), "sealed"))) {
                noteLength(me, "sealed", each.length);
                Result result = host.sudo(me, each, "resume", "sealed");
                assertTrue(result.code() == 1 && result.out().contains("IMAGE_"), result::all);
            }
            // Sealed by root's own key, but with nothing in it that root dumped.
            byte[] empty = crafted(ImageKey.ofFile(host.store(me).resolve("sealed/host.key")), "sealed");
            noteLength(me, "sealed", empty.length);
            assertEquals(1, host.sudo(me, empty, "resume", "sealed").code());
            noteLength(me, "sealed", image.length);
            Result right = host.sudo(me, image, "resume", "sealed");
            assertTrue(right.out().startsWith("{\"ok\""), right::all);
            byte[] last = suspend(me, "sealed");
            kill(me, "sealed");
            assertTrue(host.sudo(me, last, "resume", "sealed").out().contains("UNKNOWN_STAGE"));
            kill(me, "second");
            kill(other, "sealed");
        });
    }

    private static byte[] fitted(byte[] image, int length) {
        return Arrays.copyOf(image, length);
    }

    private byte[] crafted(ImageKey key, String id) throws Exception {
        Path folder = Files.createDirectory(host.base.resolve("crafted"));
        Path archive = host.base.resolve("crafted.preempt");
        try {
            Files.writeString(folder.resolve("inventory.img"), "no image");
            ImageArchive.write(folder, archive, key, new ImageManifest(
                    ImageArchive.FORMAT_VERSION, id, id, "2026-01-01T00:00:00Z", "4", "6", "x86_64", 1, 0, List.of()));
            return Files.readAllBytes(archive);
        } finally {
            Files.delete(folder.resolve("inventory.img"));
            Files.delete(folder);
            Files.delete(archive);
        }
    }

    private void noteLength(User user, String id, long bytes) throws IOException {
        Path note = host.store(user).resolve("sealed/" + id + ".json");
        String text = Files.readString(note);
        Files.writeString(note, text.replaceAll("\"archiveBytes\":\\d+", "\"archiveBytes\":" + bytes));
    }

    // --- what lies behind a path at the restore ----------------------------------------------------------------------

    private void swaps(Map<String, Way> ways) {
        ways.put("an open file that becomes a link to root's", () -> swap("link", file -> {
            Files.delete(file);
            Files.createSymbolicLink(file, secret);
        }));
        ways.put("an open file that becomes another name of root's", () -> swap("hard", file -> {
            // The kernel would not let the user make it where fs.protected_hardlinks is set: root does it for him.
            Files.delete(file);
            Files.createLink(file, secret);
        }));
        ways.put("a folder of an open file that becomes a link to root's", () -> swap("folder", file -> {
            Files.move(file.getParent(), file.getParent().resolveSibling("moved"));
            Files.createSymbolicLink(file.getParent(), roots);
        }));
        ways.put("a deleted open file whose folder becomes a link to root's", () -> {
            Path folder = own(me, Files.createDirectory(me.home().resolve("ghosts")));
            start(me, "ghost", "cd ghosts; exec 6<>gone; rm gone; echo kept >&6; cd ..; " + TICKS);
            until(() -> Files.exists(folder(me, "ghost").resolve("output.log"))
                    && Files.size(folder(me, "ghost").resolve("output.log")) > 0);
            byte[] image = suspend(me, "ghost");
            Files.delete(folder);
            Files.createSymbolicLink(folder, roots);
            Result result = host.sudo(me, image, "resume", "ghost");
            assertEquals(1, result.code(), result::all);
            assertEquals("SUSPENDED", status(me, "ghost").get("state").asText());
            kill(me, "ghost");
        });
    }

    private interface Swap {
        void of(Path file) throws IOException;
    }

    // Size and mode are those of root's file, which is all that criu compares.
    private void swap(String id, Swap swap) throws Exception {
        Path folder = own(me, Files.createDirectory(me.home().resolve("swap-" + id)));
        Path file = own(me, Files.writeString(folder.resolve("secret"), "x".repeat(SECRET.length())));
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rw-------"));
        start(me, id, "exec 6<>" + file + "; " + TICKS);
        until(() -> Files.exists(folder(me, id).resolve("output.log"))
                && Files.size(folder(me, id).resolve("output.log")) > 0);
        byte[] image = suspend(me, id);
        swap.of(file);
        for (String verb : List.of("resume-here", "resume")) {
            Result result = host.sudo(me, image, verb, id);
            assertTrue(result.code() == 1 || result.out().contains("\"ok\":null"), result::all);
        }
        assertEquals("SUSPENDED", status(me, id).get("state").asText());
        kill(me, id);
    }

    // --- processes ---------------------------------------------------------------------------------------------------

    private void processes(Map<String, Way> ways) {
        ways.put("a setuid program of root's in a stage", () -> {
            Path shell = Files.copy(Path.of("/bin/sleep").toRealPath(), host.base.resolve("setuid"));
            Files.setPosixFilePermissions(shell, PosixFilePermissions.fromString("rwxr-xr-x"));
            PrivilegedHost.root("chmod", "4755", shell.toString());
            String body = request(me, "setuid", Map.of(), List.of(shell.toString(), "1000"), me.home());
            assertEquals(0, host.sudo(me, bytes(body), "start", "setuid").code());
            Result result = host.sudo(me, bytes(SOON), "freeze", "setuid");
            // Without CAP_SYS_RESOURCE the preflight sees it first.
            assertTrue(result.code() == 1 && result.out().matches("(?s).*OTHER_(USER|RIGHTS).*"), result::all);
            assertEquals("RUNNING", status(me, "setuid").get("state").asText());
            kill(me, "setuid");
            Files.delete(shell);
        });
        ways.put("signals, memory and files of root's processes", () -> {
            start(me, "restored", TICKS);
            byte[] image = suspend(me, "restored");
            assertTrue(host.sudo(me, image, "resume", "restored").out().startsWith("{\"ok\""));
            long init = status(me, "restored").get("initPid").asLong();
            long criu = Proc.stat(init).orElseThrow().ppid();
            long root = Proc.stat(status(me, "mine").get("initPid").asLong()).orElseThrow().ppid();
            // criu has the user's ids, but more capabilities: what ptrace(2) guards stays closed.
            Result result = host.shell(me, "for p in \"$@\"; do cat /proc/$p/environ; cat /proc/$p/fd/*; readlink /proc/$p/fd/*; "
                    + "cat /proc/$p/maps; ls /proc/$p/root/; head -c 1 /proc/$p/mem; nsenter -t $p --mount id; done",
                    Long.toString(criu), Long.toString(root));
            assertEquals("", result.out(), result::all);
            assertNotEquals(0, host.shell(me, "kill -9 " + root + " || kill -STOP " + root).code());
            assertTrue(Proc.stat(root).isPresent());
            kill(me, "restored");
        });
        ways.put("writing to a stage's control group, frozen and running", () -> {
            assertEquals(0, host.sudo(me, bytes(SOON), "freeze", "mine").code());
            long init = status(me, "mine").get("initPid").asLong();
            String group = Files.readAllLines(Path.of("/proc/" + init + "/cgroup")).stream()
                    .filter(l -> l.contains("preemptible-mine"))
                    .findFirst()
                    .orElseThrow();
            String folder = PrivilegedHost.root("find", "/sys/fs/cgroup", "-type", "d", "-name", "preemptible-mine").trim()
                    .lines().findFirst().orElseThrow();
            Result result = host.shell(me, "cd \"$1\" && for f in cgroup.freeze cgroup.procs cgroup.kill freezer.state tasks; do"
                    + " [ -e $f ] && echo 0 > $f && echo written $f; done", folder);
            assertFalse(result.out().contains("written"), () -> group + result.all());
            assertEquals("SUSPENDING", status(me, "mine").get("state").asText());
            assertEquals(0, host.sudo(me, NOTHING, "thaw", "mine").code());
        });
    }

    // --- parts -------------------------------------------------------------------------------------------------------

    private List<String> sudo(String... words) {
        List<String> command = new ArrayList<>(List.of("/usr/bin/sudo", "-n", host.place.program().toString()));
        command.addAll(List.of(words));
        return command;
    }

    private Path folder(User user, String id) throws IOException {
        return own(user, Files.createDirectories(own(user, Files.createDirectories(user.home().resolve("stages")))
                .resolve(id)));
    }

    private void start(User user, String id, String script) throws Exception {
        Result result = host.sudo(
                user, bytes(request(user, id, Map.of(), List.of("/bin/sh", "-c", script), user.home())), "start", id);
        assertEquals(0, result.code(), result::all);
    }

    private String request(User user, String id, Map<String, String> variables, List<String> command, Path workDir) {
        try {
            Map<String, String> all = new TreeMap<>(Map.of("PATH", "/usr/bin:/bin"));
            all.putAll(variables);
            return JSON.writeValueAsString(new Wire.Start(
                    id, workDir.toString(), command, all, "REFUSE", folder(user, id).toString(), "0022"));
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    private byte[] suspend(User user, String id) {
        Result frozen = host.sudo(user, bytes(SOON), "freeze", id);
        assertEquals(0, frozen.code(), frozen::all);
        Result dumped = host.sudo(user, bytes("{}"), "dump", id);
        assertEquals(0, dumped.code(), dumped::all);
        Result committed = host.sudo(user, NOTHING, "commit", id);
        assertEquals(0, committed.code(), committed::all);
        String out = dumped.out();
        return out.substring(out.indexOf('\n') + 1).getBytes(StandardCharsets.ISO_8859_1);
    }

    private JsonNode status(User user, String id) throws IOException {
        Result result = host.sudo(user, NOTHING, "status", id);
        assertEquals(0, result.code(), result::all);
        return JSON.readTree(result.out()).get("ok");
    }

    private void kill(User user, String id) {
        host.sudo(user, NOTHING, "kill", id);
        host.sudo(user, NOTHING, "forget", id);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private Path own(User user, Path path) throws IOException {
        Files.setAttribute(path, "unix:uid", (int) user.uid(), java.nio.file.LinkOption.NOFOLLOW_LINKS);
        return path;
    }

    private Path write(User user, String name, String text) throws IOException {
        return own(user, Files.writeString(user.home().resolve(name), text));
    }

    private String file(User user, String name, String text) throws IOException {
        return write(user, name, text).toString();
    }

    private Path script(User user, String name, String text) throws IOException {
        Path file = write(user, name, "#!/bin/sh\n" + text + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
        return file;
    }

    private static int ownerOf(Path file) throws IOException {
        return (int) Files.getAttribute(file, "unix:uid", java.nio.file.LinkOption.NOFOLLOW_LINKS);
    }

    private interface Condition {
        boolean holds() throws IOException;
    }

    private static void until(Condition condition) throws Exception {
        long end = System.nanoTime() + 60_000_000_000L;
        while (!condition.holds()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError("nothing came");
            }
            Thread.sleep(20);
        }
    }
}
