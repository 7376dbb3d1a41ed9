package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.User;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageLaunch;
import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Ways from the agent's user to root, each tried for real against the installed privileged part; all have to fail.
 *
 * <p>After each one root's secret is unread and unchanged, nothing was made by root where the user wanted it, no process
 * of the two users has more rights than its user, and the privileged part still works. The attacker's own program is
 * {@code ways.c}.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class WaysToRootTest {

    private static final byte[] NOTHING = new byte[0];
    private static final String SECRET = "the-secret-of-root";
    private static final String IDLE = "exec >/dev/null 2>&1; exec /bin/sleep 1000";
    private static final String PATH = "PATH=/usr/sbin:/usr/bin:/sbin:/bin";
    private static final List<String> LIVING = List.of("status", "freeze", "thaw");

    private PrivilegedHost host;
    private User me;
    private User other;
    private Path roots;
    private Path secret;
    /** Runs as whoever is tricked into it, and leaves a trace of the rights it had. */
    private Path evil;
    private Path ways;
    private Path library;
    private String program;

    @BeforeAll
    void install() throws Exception {
        host = PrivilegedHost.open();
        me = host.one;
        other = host.two;
        program = host.place.program().toString();
        roots = Files.createDirectory(host.base.resolve("roots"));
        secret = Files.writeString(roots.resolve("secret"), SECRET);
        Files.setPosixFilePermissions(secret, PosixFilePermissions.fromString("rw-------"));
        Path source = host.base.resolve("ways.c");
        try (InputStream in = WaysToRootTest.class.getResourceAsStream("ways.c")) {
            Files.copy(in, source);
        }
        ways = host.base.resolve("ways");
        library = host.base.resolve("ways.so");
        PrivilegedHost.root("cc", "-w", "-O1", "-o", ways.toString(), source.toString(), "-lutil", "-pthread");
        PrivilegedHost.root(
                "cc", "-w", "-O1", "-DLIBRARY", "-shared", "-fPIC", "-o", library.toString(), source.toString(), "-lutil",
                "-pthread");
        evil = script(me, "evil", "cp /bin/sleep " + me.home() + "/pwned-$$; chmod 4755 " + me.home() + "/pwned-$$; cat "
                + secret + " > " + me.home() + "/loot-$$; echo x > " + roots + "/pwned; exit 77");
        start(me, "mine", IDLE);
        start(other, "theirs", IDLE);
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

    private Stream<Arguments> ways() {
        Map<String, Way> all = new LinkedHashMap<>();
        words(all);
        environment(all);
        rule(all);
        strangers(all);
        requests(all);
        paths(all);
        descriptors(all);
        namespaces(all);
        setuid(all);
        groups(all);
        signals(all);
        limits(all);
        processes(all);
        installation(all);
        surroundings(all);
        assertTrue(all.size() >= 100, () -> "only " + all.size());
        return all.entrySet().stream().map(way -> Arguments.of(way.getKey(), way.getValue()));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("ways")
    void aWayToRootIsClosed(String name, Way way) throws Exception {
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
                    assertNotEquals(0, ownerOf(file), () -> file + " is root's");
                    assertTrue(
                            !file.getFileName().toString().startsWith("loot") || !Files.readString(file).contains(SECRET),
                            () -> "the secret is in " + file);
                }
            }
            assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(host.store(user))));
        }
        noProcessHasMoreRights();
        Result entered = enter(me, "mine", "id -u");
        assertEquals(me.uid() + "\n", entered.out(), entered::all);
    }

    private void noProcessHasMoreRights() throws Exception {
        String ours = Files.readSymbolicLink(Path.of("/proc/self/ns/user")).toString();
        for (Proc.Stat each : Proc.all()) {
            until(() -> rights(each.pid(), ours).isEmpty(), () -> rights(each.pid(), ours));
        }
    }

    /** What a process has that it must not; empty for none. The processes of a call that just ended are on their way out. */
    private String rights(long pid, String ours) {
        try {
            List<String> groups = Files.readAllLines(Path.of("/proc", Long.toString(pid), "cgroup"));
            boolean staged = groups.stream().anyMatch(g -> g.contains("/preemptible-" + me.uid() + "-")
                    || g.contains("/preemptible-" + other.uid() + "-"));
            List<String> ids = Proc.statusWords(pid, "Uid");
            boolean users = ids.contains(Long.toString(me.uid())) || ids.contains(Long.toString(other.uid()));
            if (!staged && !users) {
                return "";
            }
            boolean equal = ids.stream().distinct().count() == 1 && users;
            boolean within = !Files.readSymbolicLink(Path.of("/proc", Long.toString(pid), "ns/user")).toString().equals(ours);
            boolean capable = !within && Stream.of("CapInh", "CapPrm", "CapEff", "CapAmb")
                    .anyMatch(c -> Proc.statusWords(pid, c).stream().anyMatch(w -> !w.matches("0+")));
            boolean bound = !staged || Proc.statusWords(pid, "NoNewPrivs").equals(List.of("1"));
            return equal && !capable && bound ? "" : pid + ": " + Files.readString(Path.of("/proc", "" + pid, "status"));
        } catch (IOException e) {
            return "";
        }
    }

    // --- words -------------------------------------------------------------------------------------------------------

    private void words(Map<String, Way> all) {
        Map<String, List<String>> wrong = new TreeMap<>(Map.of(
                "no arguments", List.of(),
                "an unknown verb", List.of("shell", "mine"),
                "a verb that is an option", List.of("--help", "mine"),
                "a verb in capitals", List.of("KILL", "mine"),
                "a verb with a line's end", List.of("kill\n", "mine"),
                "an empty verb", List.of("", "mine"),
                "more arguments than there are", List.of("status", "mine", "/"),
                "a verb without its id", List.of("kill"),
                "a version with an id", List.of("version", "mine")));
        Map.of(
                "climbs", "../../../../etc", "is the folder above", "..", "is the folder", ".", "is absolute", "/etc/shadow",
                "is an option", "--help", "has two lines", "mine\nmine", "is too long", "a".repeat(4000))
                .forEach((name, id) -> wrong.put("an id that " + name, List.of("kill", id)));
        Map.of(
                "of 64 characters", "a".repeat(64), "of other letters", "m\u0131ne", "in capitals", "MINE",
                "with a blank", "mine ", "with a slash behind", "mine/", "that is empty", "", "with a format", "%n%s%p",
                "with a wildcard", "*", "of the program's own", "-check")
                .forEach((name, id) -> wrong.put("an id " + name, List.of("start", id)));
        wrong.forEach((name, words) -> all.put(name, () -> {
            Result result = host.sudo(me, request("true"), words.toArray(String[]::new));
            assertEquals(2, result.code(), result::all);
            assertEquals("", result.out());
        }));
    }

    // --- environment -------------------------------------------------------------------------------------------------

    private void environment(Map<String, Way> all) {
        for (String uid : List.of("0", "1", "4294967295", "-1", "")) {
            all.put("a forged SUDO_UID of '" + uid + "'", () -> {
                Map<String, String> forged = Map.of("SUDO_UID", uid, "SUDO_USER", "root", "SUDO_GID", "0");
                Result result = host.call(me, forged, NOTHING, sudo("status", "mine"));
                assertTrue(result.out().startsWith("ok\nstate running"), result::all);
                assertFalse(Files.exists(host.place.store().resolve("0")));
            });
        }
        all.put("the SUDO_UID of another user", () -> {
            Map<String, String> forged = Map.of("SUDO_UID", Long.toString(other.uid()));
            refused("UNKNOWN_STAGE", host.call(me, forged, NOTHING, sudo("status", "theirs")));
        });
        Map<String, Map<String, String>> kinds = new LinkedHashMap<>();
        Path mark = me.home().resolve("pwned-mark");
        kinds.put("the loader", Map.of(
                "LD_PRELOAD", library.toString(), "LD_AUDIT", library.toString(), "LD_LIBRARY_PATH", me.home().toString(),
                "LD_DEBUG", "all", "LD_DEBUG_OUTPUT", me.home() + "/pwned", "WAY", "mark", "WAY_MARK", mark.toString()));
        kinds.put("the shell", Map.of(
                "BASH_ENV", evil.toString(), "ENV", evil.toString(), "IFS", "/", "PS4", "$(" + evil + ")", "SHELLOPTS",
                "xtrace", "BASH_FUNC_id%%", "() { " + evil + "; }", "CDPATH", "/"));
        kinds.put("the C library", Map.of(
                "GCONV_PATH", me.home().toString(), "LOCPATH", me.home().toString(), "NLSPATH", me.home() + "/%N", "TZ",
                ":" + secret, "TZDIR", me.home().toString(), "MALLOC_CHECK_", "3", "GLIBC_TUNABLES",
                "glibc.malloc.check=3:glibc.malloc.perturb=255", "HOSTALIASES", secret.toString(), "RES_OPTIONS", "debug",
                "LANGUAGE", "../../../../" + me.home()));
        kinds.put("sudo", Map.of(
                "SUDO_ASKPASS", evil.toString(), "SUDO_EDITOR", evil.toString(), "VISUAL", evil.toString(), "SUDO_PS1",
                "x", "SUDO_COMMAND", "/bin/sh", "HOME", me.home().toString(), "SHELL", evil.toString(), "TMPDIR",
                me.home().toString(), "MAIL", secret.toString()));
        kinds.forEach((name, variables) -> all.put("variables for " + name, () -> {
            Result result = host.call(me, variables, NOTHING, sudo("status", "mine"));
            assertTrue(result.out().startsWith("ok\nstate running"), result::all);
            assertFalse(Files.exists(mark) && Files.readString(mark).equals("root"), "a library was loaded by root");
            Files.deleteIfExists(mark);
        }));
        all.put("a PATH with programs of its own", () -> {
            Path fakes = own(me, Files.createDirectories(me.home().resolve("fakes")));
            for (String tool : List.of("sh", "mount", "id", "env", "cat", "getent", "nsenter", "setpriv", "unshare")) {
                script(me, "fakes/" + tool, "exec " + evil);
            }
            Map<String, String> variables = Map.of("PATH", fakes + ":/usr/bin:/bin");
            assertEquals(0, host.call(me, variables, request(IDLE), sudo("start", "path")).code());
            assertEquals(0, host.call(me, variables, NOTHING, sudo("freeze", "path")).code());
            kill(me, "path");
        });
        all.put("a request whose environment is for root", () -> {
            byte[] body = body(List.of("/bin/sh", "-c", IDLE), List.of(
                    PATH, "LD_PRELOAD=" + library, "WAY_MARK=" + mark, "WAY=mark", "SUDO_UID=0", "BASH_ENV=" + evil,
                    "ENV=" + evil, "IFS=/", "=", "NO_EQUALS", "PATH=/nowhere", "\n;" + evil + "\n=x"));
            assertEquals(0, host.sudo(me, body, "start", "preload").code());
            until(() -> Files.exists(mark) && Files.size(mark) > 0, () -> "the library was never loaded");
            assertEquals("user", Files.readString(mark), "and only by what is the user's already");
            Files.delete(mark);
            assertEquals(0, host.sudo(me, body(List.of("/bin/true"), List.of("LD_PRELOAD=" + library, "WAY_MARK=" + mark,
                    "WAY=mark")), "enter", "preload").code());
            assertEquals("user", Files.readString(mark));
            Files.delete(mark);
            kill(me, "preload");
        });
        all.put("a name and a language of odd bytes", () -> {
            Map<String, String> variables = Map.of("LC_ALL", "%n/../..", "LANG", "C%s", "TERM", "../../x", "DISPLAY", "`id`");
            assertEquals(0, host.call(me, variables, NOTHING, sudo("status", "mine")).code());
        });
    }

    // --- the rule ----------------------------------------------------------------------------------------------------

    private void rule(Map<String, Way> all) {
        Map<String, String> refusedCalls = new LinkedHashMap<>();
        refusedCalls.put("sudo as another user", "sudo -n -u " + other.name() + " " + program + " status theirs");
        refusedCalls.put("a shell by the same rule", "sudo -n /bin/sh -c " + evil);
        refusedCalls.put("a path that leads out of the program", "sudo -n " + program + "/../../../../../bin/sh -c " + evil);
        refusedCalls.put("a program beside it", "sudo -n " + host.base + "/libexec/../ways spin x x 1");
        refusedCalls.put("arguments within the program's name", "sudo -n '" + program + " version'");
        refusedCalls.put("variables before the program", "sudo -n SUDO_UID=0 " + program + " version");
        refusedCalls.put("LD_PRELOAD before the program", "sudo -n LD_PRELOAD=" + library + " " + program + " version");
        refusedCalls.put("sudo -E", "X=1 sudo -n -E " + program + " version");
        refusedCalls.put("sudo --preserve-env", "SUDO_UID=0 sudo -n --preserve-env=SUDO_UID " + program + " version");
        refusedCalls.put("sudo -s", "sudo -n -s " + program + " version");
        refusedCalls.put("sudo -i", "sudo -n -i " + program + " version");
        refusedCalls.put("sudo -e", "EDITOR=" + evil + " sudo -n -e " + program);
        refusedCalls.put("sudo -D", "sudo -n -D /etc " + program + " version");
        refusedCalls.put("sudo -R", "sudo -n -R " + me.home() + " " + program + " version");
        refusedCalls.put("sudo -C", "sudo -n -C 30 " + program + " version 9< /etc/passwd");
        refusedCalls.put("sudo with a password program", "SUDO_ASKPASS=" + evil + " sudo -A /bin/sh -c " + evil);
        refusedCalls.put("a copy of the program at home", "cp " + program + " preemptible; sudo -n ./preemptible version");
        refusedCalls.put("the program without sudo", "SUDO_UID=0 " + program + " status mine");
        refusedCalls.put("the program with an own SUDO_UID", "SUDO_UID=$(id -u) " + program + " status mine");
        refusedCalls.put("the program as root of a user namespace",
                "SUDO_UID=" + other.uid() + " unshare -Ur " + program + " status theirs");
        refusedCalls.put("the program as root of a user namespace with namespaces of its own",
                "SUDO_UID=$(id -u) unshare -Urmpf --mount-proc " + program + " status mine");
        refusedCalls.put("sudo in a user namespace", "unshare -Ur sudo -n " + program + " version");
        refusedCalls.put("sudo in a user namespace with rules of its own", "echo 'ALL ALL=(ALL) NOPASSWD: ALL' > own; chmod 440 own;"
                + " unshare -Urm sh -c 'mount --bind own /etc/sudoers; sudo -n " + evil + "'");
        refusedCalls.put("sudo without new rights", "setpriv --no-new-privs sudo -n " + program + " version");
        refusedCalls.put("sudo that shares its folder with another process", ways + " share /usr/bin/sudo -n " + program
                + " version");
        refusedCalls.put("sudo that is traced", ways + " trace /usr/bin/sudo -n " + program + " version");
        refusedCalls.forEach((name, command) -> all.put(name, () -> {
            Result result = host.shell(me, command);
            assertNotEquals(0, result.code(), result::all);
            assertFalse(result.out().contains("ok\n"), result::all);
        }));
        for (String option : List.of("-P", "-H", "-b", "-g root", "-u '#0'", "-T 100 -k")) {
            all.put("the rule with sudo " + option, () -> {
                Result result = host.shell(me, "sudo -n " + option + " " + program + " status mine; sudo -n " + option + " "
                        + program + " start opt </dev/null; sleep 0.2");
                assertFalse(result.out().contains("ok\n") && !result.out().contains("state running"), result::all);
                assertFalse(Files.exists(host.store(me).resolve("opt")));
            });
        }
        all.put("a link of the program's name that becomes another program", () -> {
            Path link = me.home().resolve("links");
            own(me, Files.createDirectory(link));
            Result result = host.shell(me, "cd links; (i=0; while [ $i -lt 600 ]; do i=$((i+1)); ln -sfn " + program
                    + " preemptible; ln -sfn " + evil + " preemptible; done) & i=0; while [ $i -lt 25 ]; do i=$((i+1)); sudo -n "
                    + link + "/preemptible version; done; wait");
            assertFalse(result.out().contains("77"), result::all);
        });
        all.put("what the user may see of the rule", () -> {
            Result result = host.shell(me, "cat " + host.place.rule() + "; echo x >> " + host.place.rule() + "; rm -f "
                    + host.place.rule());
            assertEquals("", result.out());
            assertTrue(Files.exists(host.place.rule()));
        });
    }

    // --- stages of others --------------------------------------------------------------------------------------------

    private void strangers(Map<String, Way> all) {
        for (String verb : List.of("status", "freeze", "thaw", "kill", "forget")) {
            all.put(verb + " of another user's stage", () -> {
                refused("UNKNOWN_STAGE", host.sudo(me, NOTHING, verb, "theirs"));
                assertEquals("running", state(other, "theirs"));
            });
        }
        all.put("entering another user's stage", () -> {
            Result result = host.sudo(me, request("id"), "enter", "theirs");
            assertEquals(125, result.code(), result::all);
            assertEquals("", result.out());
        });
        all.put("a stage of the same id as another user's", () -> {
            start(me, "theirs", IDLE);
            assertNotEquals(value(me, "theirs", "group"), value(other, "theirs", "group"));
            assertEquals(0, host.sudo(me, NOTHING, "freeze", "theirs").code());
            assertEquals("running", state(other, "theirs"));
            kill(me, "theirs");
            assertEquals("running", state(other, "theirs"));
        });
        all.put("a stage's id once more", () -> {
            refused("BAD_SPEC", host.sudo(me, request(IDLE), "start", "mine"));
            assertEquals("running", state(me, "mine"));
        });
        all.put("signals and files of another user's stage", () -> {
            String init = value(other, "theirs", "init");
            Result result = host.shell(me, "kill -9 $1; cat /proc/$1/environ; ls /proc/$1/root/ /proc/$1/fd; echo 1 >"
                    + " $2/cgroup.kill; echo 1 > $2/cgroup.freeze; echo $$ > $2/cgroup.procs; rmdir $2",
                    init, value(other, "theirs", "group"));
            assertEquals("", result.out(), result::all);
            assertEquals("running", state(other, "theirs"));
        });
        all.put("a working folder of another user's", () -> {
            Path own = own(me, Files.createDirectories(me.home().resolve("stages/other")));
            launchFails("other", StageLaunch.settling(
                    other.home(), "0022", own.resolve("output.log"), own, List.of("/bin/sleep", "1000")));
        });
        all.put("a second name of the same user", () -> {
            String name = me.name() + "z";
            PrivilegedHost.root("useradd", "-o", "-r", "-M", "-u", Long.toString(me.uid()), "-G", "root", name);
            try {
                Result result = enter(me, "mine", "id -G");
                start(me, "named", "id -G > " + me.home() + "/groups; " + IDLE);
                until(() -> Files.exists(me.home().resolve("groups")) && Files.size(me.home().resolve("groups")) > 0,
                        () -> "nothing came");
                for (String said : List.of(result.out(), Files.readString(me.home().resolve("groups")))) {
                    assertFalse(List.of(said.trim().split(" ")).contains("0"), said);
                }
            } finally {
                kill(me, "named");
                PrivilegedHost.root("sed", "-i", "/^" + name + ":/d", "/etc/passwd");
                PrivilegedHost.root("sed", "-i", "/^" + name + ":/d;s/[:,]" + name + "$/:/", "/etc/shadow");
                HostTool.run(20, List.of("/usr/sbin/groupdel", name));
                PrivilegedHost.root("sed", "-i", "s/,\\?" + name + "$//", "/etc/group");
            }
        });
        all.put("root itself as the caller", () -> {
            HostTool.Answer answer = HostTool.run(20, List.of("/usr/bin/sudo", "-n", program, "status", "mine"));
            assertTrue(answer.code() != 0 && answer.text().contains("NO_RIGHTS"), answer::text);
        });
        all.put("a user whom the database does not know", () -> {
            HostTool.Answer answer = HostTool.run(20, List.of("/usr/bin/env", "-i", "SUDO_UID=2147400001", program, "version"));
            assertTrue(answer.code() != 0 && answer.text().contains("NO_RIGHTS"), answer::text);
            for (String uid : List.of("0", "00", "-5", "4294967295", "4294967294", "4294967296", "18446744073709551616",
                    "99999999999999999999999", me.uid() + "x", " " + me.uid(), "0x" + Long.toHexString(me.uid()))) {
                answer = HostTool.run(20, List.of("/usr/bin/env", "-i", "SUDO_UID=" + uid, program, "version"));
                assertTrue(answer.code() == 1 && answer.text().contains("refused NO_RIGHTS"), answer::text);
            }
        });
    }

    // --- requests ----------------------------------------------------------------------------------------------------

    private void requests(Map<String, Way> all) {
        Map<String, byte[]> wrong = new LinkedHashMap<>();
        wrong.put("an empty request", NOTHING);
        wrong.put("a request of one NUL", bytes("\0"));
        wrong.put("a request of many NULs", new byte[100_000]);
        wrong.put("a request without a NUL", bytes("1"));
        wrong.put("a request that is cut off", bytes("1\0/bin/sh"));
        wrong.put("a request of another kind", bytes("{\"command\":[\"/bin/sh\"]}"));
        wrong.put("a program that is not absolute", bytes("1\0bin/sh\0"));
        wrong.put("a program that is empty", bytes("1\0\0/bin/sh\0"));
        wrong.put("a program below the home folder", bytes("1\0~/evil\0"));
        for (String count : List.of("0", "-1", "+1", " 1", "1 ", "0x1", "01", "3", "99", "1.5", "4294967297",
                "18446744073709551617", "18446744073709551615", "9223372036854775808", "1".repeat(5000))) {
            String shown = count.length() > 30 ? "of five thousand digits" : "of '" + count + "'";
            wrong.put("a count " + shown, bytes(count + "\0/bin/sh\0-c\0"));
        }
        wrong.put("a request that is too long", Arrays.copyOf(request(IDLE), HelperRequest.LARGEST + 1));
        wrong.forEach((name, body) -> all.put(name, () -> {
            refused("BAD_SPEC", host.sudo(me, body, "start", "wrong"));
            assertFalse(Files.exists(host.store(me).resolve("wrong")));
            Result result = host.sudo(me, body, "enter", "mine");
            assertTrue(result.code() == 125 && result.out().isEmpty() && result.err().contains("BAD_SPEC"), result::all);
        }));
        Map<String, String> programs = new LinkedHashMap<>();
        programs.put("is not there", "/nowhere/at/all");
        programs.put("is a folder", "/");
        programs.put("is no program", "/etc/passwd");
        programs.put("is root's alone", secret.toString());
        programs.put("is behind root's folder", host.place.store() + "/" + me.uid() + "/mine/record");
        programs.put("has a very long name", "/" + "a".repeat(100_000));
        programs.put("is a device", "/dev/zero");
        programs.forEach((name, path) -> all.put("a program that " + name, () -> {
            launchFails("program", List.of(path, "--version"));
            Result result = host.sudo(me, body(List.of(path), List.of()), "enter", "mine");
            assertTrue(result.code() == 125 && result.out().isEmpty(), result::all);
        }));
        all.put("more words than the kernel takes", () -> {
            byte[] body = bytes("1\0/bin/true\0" + "A=b\0".repeat(1_000_000));
            refused("LAUNCH_FAILED", host.sudo(me, body, "start", "many"));
            assertFalse(Files.exists(host.store(me).resolve("many")));
        });
        for (String endless : List.of("/dev/zero", "/dev/urandom")) {
            all.put("a request without end from " + endless, () -> {
                Result result = host.shell(me, "sudo -n " + program + " start endless < " + endless);
                refused("BAD_SPEC", result);
                assertFalse(Files.exists(host.store(me).resolve("endless")));
            });
        }
        all.put("a request from a folder", () -> refused(
                "BAD_SPEC", host.shell(me, "sudo -n " + program + " start folder < /tmp")));
        all.put("a request from a pipe that does not block", () -> refused(
                "BAD_SPEC", host.shell(me, ways + " nonblocking /usr/bin/sudo -n " + program + " start folder")));
        all.put("a request that never comes holds nothing up", () -> {
            start(me, "waits", IDLE);
            Result result = host.shell(me, "sleep 1 | sudo -n " + program + " enter waits & sleep 1 | sudo -n "
                    + program + " start other & sleep 0.2; sudo -n " + program + " kill waits && sudo -n " + program
                    + " forget waits; wait");
            assertEquals("ok\nok\n", result.out().replaceAll("refused.*\n", ""), result::all);
        });
        all.put("arguments of odd bytes reach the program alone", () -> {
            byte[] body = body(List.of("/bin/sh", "-c", "printf %s \"$1\" > \"$HOME/odd\"", "sh", "\n$(" + evil + ")`" + evil
                    + "`\u0001\u00ff%n"), List.of("HOME=" + me.home(), PATH));
            assertEquals(0, host.sudo(me, body, "enter", "mine").code());
            assertEquals("\n$(" + evil + ")`" + evil + "`\u0001\u00ff%n", Files.readString(me.home().resolve("odd")));
        });
    }

    // --- paths -------------------------------------------------------------------------------------------------------

    private void paths(Map<String, Way> all) {
        for (String name : List.of("output.log", "ready", "exit", "mounts")) {
            all.put("a stage's " + name + " that is a link to root's file", () -> {
                Path own = own(me, Files.createDirectories(me.home().resolve("stages/" + name.replace(".", ""))));
                own(me, Files.createSymbolicLink(own.resolve(name), secret));
                String id = "link-" + name.replace(".", "");
                host.sudo(me, body(StageLaunch.settling(
                        me.home(), "0022", own.resolve("output.log"), own, List.of("/bin/true")), List.of(PATH)), "start", id);
                Thread.sleep(100);
                kill(me, id);
            });
        }
        all.put("a working folder of root's alone", () -> {
            Path own = own(me, Files.createDirectories(me.home().resolve("stages/closed")));
            launchFails("closed", StageLaunch.settling(
                    host.store(me), "0022", own.resolve("output.log"), own, List.of("/bin/sleep", "1000")));
        });
        all.put("a stage's folder that is root's", () -> launchFails("rooted", StageLaunch.settling(
                me.home(), "0022", roots.resolve("output.log"), roots, List.of("/bin/sleep", "1000"))));
        all.put("a umask with a command in it", () -> launchFails("mask", StageLaunch.settling(
                me.home(), "0022; " + evil, Path.of("/dev/null"), me.home(), List.of("/bin/sleep", "1000"))));
        all.put("a working folder that becomes a link to root's while it is entered", () -> {
            own(me, Files.createDirectory(me.home().resolve("honest")));
            Process flip = new ProcessBuilder("/usr/bin/setpriv", "--reuid", me.name(), "--regid", me.name(), "--init-groups",
                    "--", "/bin/sh", "-c", "cd \"$1\"; while :; do ln -sfn honest racing; ln -sfn \"$2\" racing; done", "sh", me.home().toString(),
                    host.store(me).toString()).start();
            try {
                Path own = own(me, Files.createDirectories(me.home().resolve("stages/race")));
                for (int i = 0; i < 8; i++) {
                    Result result = host.sudo(me, body(StageLaunch.settling(me.home().resolve("racing"), "0022",
                            own.resolve("output.log"), own, List.of("/bin/sleep", "1000")), List.of(PATH)), "start", "race");
                    String init = result.code() == 0 ? value(me, "race", "init") : "";
                    if (!init.isEmpty() && Files.exists(Path.of("/proc", init, "cwd"))) {
                        Path at = Files.readSymbolicLink(Path.of("/proc", init, "cwd"));
                        assertFalse(at.startsWith(host.place.store()), at::toString);
                    }
                    kill(me, "race");
                }
            } finally {
                flip.destroyForcibly().waitFor();
                Files.deleteIfExists(me.home().resolve("racing"));
            }
        });
        all.put("a home folder that is a link to root's", () -> {
            Path home = me.home();
            Path moved = Files.move(home, home.resolveSibling("moved"));
            Files.createSymbolicLink(home, roots);
            try {
                HostTool.Answer answer = HostTool.run(30, List.of(
                        "/usr/bin/setpriv", "--reuid", me.name(), "--regid", me.name(), "--init-groups", "--", "/usr/bin/sudo",
                        "-n", program, "status", "mine"));
                assertTrue(answer.text().startsWith("ok"), answer::text);
            } finally {
                Files.delete(home);
                Files.move(moved, home);
            }
        });
        all.put("reading the records", () -> {
            Path store = host.store(me);
            Result result = host.shell(me, "for f in \"$@\"; do cat \"$f\" || ls \"$f\"; done", host.place.store().toString(),
                    store.toString(), store + "/mine/record", host.store(other) + "/theirs/record");
            assertEquals("", result.out(), result::all);
        });
        all.put("writing to what is installed", () -> {
            Result result = host.shell(me, "for f in \"$@\"; do echo x > \"$f\" || mv \"$f\" \"$f.old\" || ln -s / \"$f.x\"; done",
                    program, program + ".new", host.place.rule().toString(), host.place.store() + "/x",
                    host.place.store().toString(), host.store(me) + "/mine/record.new");
            assertNotEquals(0, result.code(), result::all);
        });
    }

    // --- descriptors -------------------------------------------------------------------------------------------------

    private void descriptors(Map<String, Way> all) {
        all.put("open files that root would inherit", () -> {
            Result result = host.shell(me, "printf '%s\\0' 2 /bin/ls /proc/self/fd PATH=/bin | sudo -n " + program
                    + " enter mine 3< /etc/passwd 7< /etc/passwd 8> eight 9<> /proc/self/mem");
            assertEquals(List.of("0", "1", "2", "3"), result.out().lines().toList(), result::all);
        });
        all.put("open files of root's that a stage would inherit", () -> {
            start(me, "open", "ls -l /proc/$$/fd > " + me.home() + "/open; " + IDLE);
            until(() -> Files.exists(me.home().resolve("open")) && Files.size(me.home().resolve("open")) > 0,
                    () -> "nothing came");
            String open = Files.readString(me.home().resolve("open"));
            assertFalse(open.contains(host.place.store().toString()) || open.contains("cgroup"), open);
            kill(me, "open");
        });
        for (String closed : List.of("<&-", ">&-", "2>&-", "<&- >&- 2>&-")) {
            for (String verb : List.of("status", "start", "enter")) {
                all.put(verb + " with closed descriptors " + closed, () -> {
                    Result result = host.shell(me, "sudo -n " + program + " " + verb + " mine " + closed + "; ls > /dev/null");
                    assertEquals("running", state(me, "mine"));
                    assertFalse(result.all().contains(SECRET));
                });
            }
        }
        Map<String, String> outputs = new LinkedHashMap<>();
        outputs.put("/dev/full", "/dev/full");
        outputs.put("its own memory", "/proc/self/mem");
        outputs.put("its own map of user ids", "/proc/self/uid_map");
        outputs.put("its own name", "/proc/self/comm");
        outputs.put("the kernel's log", "/dev/kmsg");
        outputs.forEach((name, path) -> all.put("an answer into " + name, () -> {
            host.shell(me, "exec 5> " + path + " && for v in status freeze thaw; do sudo -n " + program
                    + " $v mine >&5 2>&5; sudo -n " + program + " start mine < /dev/null >&5; done");
            host.sudo(me, NOTHING, "thaw", "mine");
            assertEquals("running", state(me, "mine"));
        }));
        all.put("an answer that nobody reads", () -> {
            host.shell(me, "sudo -n " + program + " status mine | :; sudo -n " + program + " freeze mine | :");
            host.sudo(me, NOTHING, "thaw", "mine");
            assertEquals("running", state(me, "mine"));
        });
        all.put("root's folders passed into a stage", () -> {
            for (String path : List.of("/", host.place.store().toString(), secret.toString(), "/proc/self/ns/mnt", "/proc/1/ns/mnt")) {
                Path socket = me.home().resolve("socket");
                start(me, "take", ways + " take " + socket + " /bin/sh -c 'cat " + secret + " store/*/*/record > "
                        + me.home() + "/loot-take; ./usr/bin/sudo -n " + program + " version > " + me.home() + "/took'");
                host.shell(me, ways + " give " + socket + " " + path);
                kill(me, "take");
                Path took = me.home().resolve("took");
                assertFalse(Files.exists(took) && Files.readString(took).contains("ok"), path);
                Files.deleteIfExists(socket);
            }
        });
        all.put("a stage's folders and namespaces passed out", () -> {
            for (String path : List.of("/", "/proc", "/proc/self/ns/mnt", "/proc/self/ns/pid")) {
                Path socket = me.home().resolve("socket");
                start(me, "give", ways + " give " + socket + " " + path + "; " + IDLE);
                Result result = host.shell(me, ways + " take " + socket + " /bin/sh -c 'cat " + secret
                        + "; ./usr/bin/sudo -n /bin/sh; readlink /proc/self/ns/mnt'");
                assertEquals(Files.readSymbolicLink(Path.of("/proc/self/ns/mnt")) + "\n", result.out(), result::all);
                kill(me, "give");
                Files.deleteIfExists(socket);
            }
        });
    }

    // --- namespaces --------------------------------------------------------------------------------------------------

    private void namespaces(Map<String, Way> all) {
        for (String way : List.of("hijack", "hijack-child", "hijack-nested")) {
            for (String kinds : List.of("user", "user,mnt", "user,mnt,pid", "user,mnt,pid,ipc")) {
                all.put("a stage whose " + way.replace("hijack", "init hijacks").replace("init hijacks-child", "child hijacks")
                        .replace("init hijacks-nested", "init hijacks three times") + " " + kinds, () -> {
                    Path ready = me.home().resolve("ready-" + way);
                    Result started = host.sudo(me, body(List.of(ways.toString(), way, kinds, evil.toString(), ready.toString()),
                            List.of(PATH)), "start", "hijack");
                    assertEquals(0, started.code(), started::all);
                    until(() -> Files.exists(ready) && Files.size(ready) > 0, () -> "never hijacked");
                    if (!way.equals("hijack-nested")) {
                        assertEquals("1", Files.readString(ready), "this kernel allows it");
                    }
                    Thread.sleep(20);
                    enterHijacked("hijack");
                    Files.delete(ready);
                });
            }
        }
        all.put("a stage that a preloaded library hijacks", () -> {
            Path ready = me.home().resolve("ready-preload");
            Result started = host.sudo(me, body(List.of("/bin/sh", "-c", IDLE), List.of(PATH, "LD_PRELOAD=" + library,
                    "WAY=user,mnt", "WAY_EVIL=" + evil, "WAY_READY=" + ready)), "start", "hijack");
            assertEquals(0, started.code(), started::all);
            assertEquals(0, host.sudo(me, request("true"), "enter", "hijack").code(), "not yet");
            until(() -> Files.exists(ready) && Files.size(ready) > 0, () -> "never hijacked");
            enterHijacked("hijack");
        });
        all.put("a namespace with the number of the one that was left", () -> {
            Path ready = me.home().resolve("ready-number");
            Path left = me.home().resolve("left-number");
            Result started = host.sudo(me, body(List.of(ways.toString(), "hijack-number", "user,mnt", evil.toString(),
                    ready.toString(), left.toString()), List.of(PATH)), "start", "hijack");
            assertEquals(0, started.code(), started::all);
            until(() -> Files.exists(ready) && Files.size(ready) > 0, () -> "never hijacked");
            Result entered = host.sudo(me, request("id -u"), "enter", "hijack");
            assertEquals(125, entered.code(), entered::all);
            enterHijacked("hijack");
        });
        all.put("the stage's namespaces from outside", () -> {
            String init = value(me, "mine", "init");
            Result result = host.shell(me, "for n in mnt pid ipc user; do nsenter --$n=/proc/$1/ns/$n id -u; done; nsenter -t $1"
                    + " -a id -u; unshare -Ur nsenter -t $1 -m id -u; unshare -Ur nsenter -t $1 -p id -u", init);
            assertFalse(result.out().contains("0\n") && result.out().lines().anyMatch("0"::equals), result::all);
        });
        all.put("root's namespaces from a stage", () -> {
            Result result = enter(me, "mine", "for p in 1 $PPID; do nsenter -t $p -a id -u; nsenter -t $p -m cat " + secret
                    + "; cat /proc/$p/root" + secret + "; done");
            assertFalse(result.out().contains(SECRET) || result.out().lines().anyMatch("0"::equals), result::all);
        });
        all.put("mounting, chroot and namespaces in a stage", () -> {
            Result result = enter(me, "mine", ways + " mount; echo $?; mount -t tmpfs x /mnt; umount /proc; pivot_root . .");
            assertEquals("0\n", result.out(), result::all);
        });
        all.put("what a stage sees of other processes", () -> {
            Result result = enter(me, "mine", "ls -d /proc/[0-9]* | wc -l; cat /proc/1/comm");
            assertTrue(Integer.parseInt(result.out().lines().findFirst().orElse("99")) < 8, result::all);
        });
    }

    // Whatever it lets happen, happens as the user.
    private void enterHijacked(String id) throws Exception {
        for (int time = 0; time < 3; time++) {
            Result entered = host.sudo(me, request("id -u; id -ru; grep Cap /proc/self/status"), "enter", id);
            List<String> said = entered.out().lines().toList();
            assertFalse(said.contains("0"), entered::all);
            assertTrue(said.stream().noneMatch(l -> l.matches("Cap(Eff|Prm|Inh|Amb):.*[1-9a-f].*")), entered::all);
        }
        for (String verb : LIVING) {
            host.sudo(me, NOTHING, verb, id);
        }
        kill(me, id);
        assertFalse(Files.exists(host.store(me).resolve(id)));
    }

    // --- setuid programs ---------------------------------------------------------------------------------------------

    private void setuid(Map<String, Way> all) {
        Map<String, String> gains = new LinkedHashMap<>();
        gains.put("sudo in a stage", "sudo -n " + program + " version");
        gains.put("sudo of another mount in a stage", "/proc/1/root/usr/bin/sudo -n " + program + " version");
        gains.put("su in a stage", "timeout 0.3 su -c 'id -u' < /dev/null");
        gains.put("the program itself in a stage", "SUDO_UID=$(id -u) " + program + " version");
        gains.put("a setuid program of root's in a stage", host.base + "/setuid -u");
        gains.put("a program with capabilities in a stage", host.base + "/capable -c 'cat " + secret + "'");
        gains.put("a setuid program in a user namespace in a stage",
                "cp /bin/dash own; unshare -Ur sh -c 'chown 0 own; chmod 4755 own'; ./own -p -c 'id -u'");
        gains.forEach((name, command) -> all.put(name, () -> {
            Path setuid = host.base.resolve("setuid");
            Path capable = host.base.resolve("capable");
            PrivilegedHost.root("cp", "/usr/bin/id", setuid.toString());
            PrivilegedHost.root("chmod", "4755", setuid.toString());
            PrivilegedHost.root("cp", "/bin/dash", capable.toString());
            if (HostTool.find("setcap").isPresent()) {
                PrivilegedHost.root("setcap", "cap_dac_override,cap_setuid+ep", capable.toString());
            }
            Result result = enter(me, "mine", "cd " + me.home() + "; " + command);
            List<String> said = result.out().lines().toList();
            assertFalse(said.contains("0") || said.contains("ok") || result.out().contains(SECRET), result::all);
            Files.delete(setuid);
            Files.delete(capable);
        }));
        all.put("sudo through a stage's root from outside", () -> {
            Result result = host.shell(me, "/proc/$1/root/usr/bin/sudo -n " + program + " version", value(me, "mine", "init"));
            assertFalse(result.out().contains("ok"), result::all);
        });
        all.put("a program that a stage leaves behind as setuid", () -> {
            enter(me, "mine", "cp /bin/dash " + me.home() + "/left; chmod 6755 " + me.home() + "/left");
            assertEquals(me.uid(), ownerOf(me.home().resolve("left")));
            Result result = host.shell(me, "./left -p -c 'id -u'");
            assertEquals(me.uid() + "\n", result.out(), result::all);
        });
    }

    // --- control groups ----------------------------------------------------------------------------------------------

    private void groups(Map<String, Way> all) {
        for (boolean frozen : List.of(true, false)) {
            all.put("writing to the control group of a stage that " + (frozen ? "is frozen" : "runs"), () -> {
                if (frozen) {
                    assertEquals(0, host.sudo(me, NOTHING, "freeze", "mine").code());
                }
                Result result = host.shell(me, "cd \"$1\"; for f in *; do (echo 0 > $f) 2>/dev/null && echo written $f; done; mkdir x;"
                        + " mv . ../y; rmdir .; echo $2 > ../cgroup.procs; chmod 777 .; ls -ld x", value(me, "mine", "group"),
                        value(me, "mine", "init"));
                assertEquals("", result.out(), result::all);
                assertEquals(frozen ? "frozen" : "running", state(me, "mine"));
                host.sudo(me, NOTHING, "thaw", "mine");
            });
        }
        all.put("leaving the control group from within", () -> {
            Result result = enter(me, "mine", "cat /proc/self/cgroup | tail -1; find /sys/fs/cgroup -name cgroup.procs | while read"
                    + " f; do (echo 0 > $f) 2>/dev/null && echo left to $f; done");
            assertFalse(result.out().contains("left to"), result::all);
        });
        delegated("a start from a control group of the user's", "", folder -> {
            Result result = startWithin(folder, "delegated");
            assertEquals(0, result.code(), result::all);
            String group = value(me, "delegated", "group");
            assertFalse(group.startsWith(folder.toString()), group);
            String init = value(me, "delegated", "init");
            Result moved = host.within("echo $$ > " + folder + "/cgroup.procs", me, "echo $1 > $2/cgroup.procs || echo refused",
                    init, folder.toString());
            assertTrue(moved.out().contains("refused"), moved::all);
            Result cloned = host.sudo(me, body(List.of(ways.toString(), "into", folder.toString(), me.home() + "/escaped",
                    me.home() + "/why"), List.of(PATH)), "enter", "delegated");
            assertEquals(0, cloned.code(), cloned::all);
            assertFalse(Files.exists(me.home().resolve("escaped")), "a process began outside of the group");
            assertEquals("Permission denied", Files.readString(me.home().resolve("why")));
        }, all);
        delegated("a control group of the user's with the folders that are to be expected",
                "for i in one two three; do mkdir preemptible-$(id -u)-expected-$i; done", folder -> {
            assertEquals(0, startWithin(folder, "expected").code());
            assertFalse(value(me, "expected", "group").startsWith(folder.toString()));
        }, all);
        delegated("a control group below one of the user's", "mkdir -p a/b", folder -> {
            Result result = startWithin(folder.resolve("a/b"), "deep");
            assertEquals(0, result.code(), result::all);
            assertFalse(value(me, "deep", "group").startsWith(folder.toString()));
        }, all);
        delegated("a threaded control group of the user's", "mkdir t; echo threaded > t/cgroup.type || :", folder -> {
            assertEquals(0, startWithin(folder, "threaded").code());
        }, all);
        delegated("a control group whose list of processes alone is the user's", "", folder -> {
            PrivilegedHost.root("chown", "0:0", folder.toString());
            assertEquals(0, startWithin(folder, "listed").code());
            assertFalse(value(me, "listed", "group").startsWith(folder.toString()));
        }, all);
        delegated("a control group whose folder alone is the user's", "", folder -> {
            PrivilegedHost.root("chown", "0:0", folder + "/cgroup.procs");
            assertEquals(0, startWithin(folder, "foldered").code());
            assertFalse(value(me, "foldered", "group").startsWith(folder.toString()));
        }, all);
        delegated("a control group that everybody may write to", "", folder -> {
            PrivilegedHost.root("chown", "0:0", folder.toString(), folder + "/cgroup.procs");
            PrivilegedHost.root("chmod", "777", folder.toString());
            assertEquals(0, startWithin(folder, "public").code());
            assertFalse(value(me, "public", "group").startsWith(folder.toString()));
        }, all);
        delegated("the caller's control group frozen and killed while root works in it", "", folder -> {
            for (int time = 0; time < 8; time++) {
                String id = "midway" + time;
                host.within("(sleep 0.00" + time + "; echo 1 > " + folder + "/cgroup.freeze; sleep 0.03; echo 1 > " + folder
                        + "/cgroup.kill) >/dev/null 2>&1 & echo $$ > " + folder + "/cgroup.procs", me, "printf '%s\\0' 2 /bin/sleep"
                        + " 1000 | sudo -n " + program + " start " + id + " >/dev/null 2>&1");
                PrivilegedHost.root("sh", "-c", "echo 0 > " + folder + "/cgroup.freeze");
                kill(me, id);
                assertFalse(Files.exists(host.store(me).resolve(id)), id);
            }
        }, all);
        all.put("a control group that somebody took over", () -> {
            start(me, "taken", IDLE);
            Path group = Path.of(value(me, "taken", "group"));
            PrivilegedHost.root("chown", "-R", me.name() + ":", group.toString());
            refused("NO_FREEZER", host.sudo(me, NOTHING, "freeze", "taken"));
            Result entered = host.sudo(me, request("id"), "enter", "taken");
            assertTrue(entered.code() == 125 && entered.err().contains("NO_FREEZER"), entered::all);
            PrivilegedHost.root("chown", "-R", "0:0", group.toString());
            kill(me, "taken");
        });
        all.put("another control group in place of the stage's", () -> {
            start(me, "replaced", IDLE);
            Path group = Path.of(value(me, "replaced", "group"));
            PrivilegedHost.root("sh", "-c", "echo 1 > $1/cgroup.kill; until rmdir $1; do sleep 0.02; done; mkdir $1", "sh", group.toString());
            refused("STAGE_ENDED", host.sudo(me, NOTHING, "freeze", "replaced"));
            Result killed = host.sudo(me, NOTHING, "kill", "replaced");
            refused("NO_FREEZER", killed);
            Files.delete(group);
            kill(me, "replaced");
        });
        all.put("a host without the second version of control groups", () -> {
            Result result = host.shell(me, "printf '%s\\0' 1 /bin/true > true");
            result = host.within("exec unshare -m sh -c 'for m in $(grep -F \" - cgroup2 \" /proc/self/mountinfo | cut -d\" \""
                    + " -f5); do umount $m; done; exec \"$@\"' sh \"$@\"", me, "sudo -n " + program + " start none < true");
            refused("NO_FREEZER", result);
            assertFalse(Files.exists(host.store(me).resolve("none")));
        });
        all.put("control groups that are mounted again at an odd place", () -> {
            Path odd = Files.createDirectories(me.home().resolve("od d"));
            own(me, odd);
            Result result = host.within("exec unshare -m sh -c 'for m in $(grep -F \" - cgroup2 \" /proc/self/mountinfo | cut"
                    + " -d\" \" -f5); do umount $m; done; mount -t cgroup2 none \"" + odd + "\"; exec \"$@\"' sh \"$@\"", me,
                    "sudo -n " + program + " start none < true");
            refused("NO_FREEZER", result);
        });
    }

    private interface InGroup {
        void go(Path folder) throws Exception;
    }

    private void delegated(String name, String before, InGroup way, Map<String, Way> all) {
        all.put(name, () -> {
            Path top = Path.of(value(me, "mine", "group")).getParent();
            Path folder = Files.createDirectory(top.resolve("pt-" + me.name()));
            PrivilegedHost.root("sh", "-c", "chown $1: $2 $2/cgroup.procs $2/cgroup.threads $2/cgroup.subtree_control"
                    + " $2/cgroup.freeze $2/cgroup.kill", "sh", me.name(), folder.toString());
            try {
                if (!before.isEmpty()) {
                    host.shell(me, "cd " + folder + "; " + before);
                }
                way.go(folder);
            } finally {
                endOthers();
                PrivilegedHost.root("sh", "-c", "echo 1 > $1/cgroup.kill; n=0; until [ $n = 100 ] || find $1 -depth -type d"
                        + " -exec rmdir {} +; do n=$((n+1)); sleep 0.02; done", "sh", folder.toString());
            }
        });
    }

    private void endOthers() throws IOException {
        for (String id : stages(me)) {
            if (!id.equals("mine")) {
                kill(me, id);
            }
        }
    }

    private Result startWithin(Path folder, String id) {
        return host.within("echo $$ > " + folder + "/cgroup.procs", me, "printf '%s\\0' 3 /bin/sh -c 'exec >/dev/null 2>&1;"
                + " exec sleep 1000' PATH=/bin:/usr/bin | sudo -n " + program + " start " + id);
    }

    // --- signals -----------------------------------------------------------------------------------------------------

    private void signals(Map<String, Way> all) {
        all.put("signals to root's process", () -> {
            Result result = host.shell(me, "sleep 0.6 | sudo -n " + program + " enter mine & sleep 0.2; for q in"
                    + " $(pgrep -u 0 -f '^" + program + " enter mine'); do for s in KILL STOP TERM HUP INT QUIT USR1 SEGV; do"
                    + " kill -$s $q && echo sent $s; done; done; wait");
            assertFalse(result.out().contains("sent"), result::all);
        });
        Map<String, String> typed = Map.of(
                "an interrupt", "\u0003", "a quit", "\u001c", "a stop", "\u001a", "an end of file", "\u0004");
        typed.forEach((name, key) -> all.put(name + " from the terminal", () -> {
            Result result = host.call(me, Map.of(), NOTHING, List.of("/bin/sh", "-c", "ulimit -c unlimited; cd /etc/cron.d"
                    + " 2>/dev/null || cd /etc; exec \"$@\"", "sh", ways.toString(), "terminal", key, "/bin/sh", "-c",
                    "trap '' INT QUIT TSTP; n=0; while [ $n -lt 12 ]; do n=$((n+1)); (trap - INT QUIT TSTP; exec sudo -n "
                            + program + " freeze mine); (trap - INT QUIT; exec sudo -n " + program + " thaw mine); done"));
            host.sudo(me, NOTHING, "thaw", "mine");
            assertEquals("running", state(me, "mine"), result::all);
            for (String folder : List.of("/", "/etc", "/etc/cron.d")) {
                assertFalse(Files.exists(Path.of(folder, "core")), "root left a core in " + folder);
            }
        }));
        all.put("a timer that ends root's process", () -> {
            for (int micros = 4000; micros < 24_000; micros += 4000) {
                host.call(me, Map.of(), request(IDLE), List.of(ways.toString(), "timer", "" + micros, "/usr/bin/sudo", "-n",
                        program, "start", "timed"));
                kill(me, "timed");
                assertFalse(Files.exists(host.store(me).resolve("timed")));
            }
        });
        all.put("every signal ignored and blocked", () -> {
            Result result = host.call(me, Map.of(), request("exit 3"), List.of(ways.toString(), "deaf", "/usr/bin/sudo", "-n",
                    program, "enter", "mine"));
            assertEquals(3, result.code(), result::all);
        });
        all.put("a core of root's process where the user wants it", () -> {
            Path line = Path.of("/etc/cron.d");
            String at = Files.isDirectory(line) ? line.toString() : "/etc";
            host.shell(me, "cd " + at + "; ulimit -c unlimited; sudo -n " + program + " status '\n* * * * * root " + evil
                    + "\n'; printf '%s\\0' 3 /bin/sh -c 'kill -QUIT $$' | sudo -n " + program + " start core; ulimit -s 8;"
                    + " sudo -n " + program + " status mine; ulimit -v 4000; sudo -n " + program + " status mine");
            kill(me, "core");
            assertFalse(Files.exists(Path.of(at, "core")) || Files.exists(Path.of("/core")));
            Result limit = enter(me, "mine", "ulimit -H -c");
            assertEquals("0\n", limit.out(), "sudo's own default keeps cores off");
        });
        all.put("a counter that root's process may not read", () -> {
            host.call(me, Map.of(), NOTHING, List.of(ways.toString(), "counter", "/usr/bin/sudo", "-n", program, "freeze", "mine"));
            host.sudo(me, NOTHING, "thaw", "mine");
            assertEquals("running", state(me, "mine"));
        });
        all.put("a caller that is gone", () -> {
            host.shell(me, "printf '%s\\0' 2 /bin/sleep 1000 > sleep; for n in 1 2 3 4; do setsid sh -c 'sudo -n " + program
                    + " start gone$1 < sleep >/dev/null 2>&1 & exec sleep 0.00$1' sh $n; kill -9 $!; done; sleep 0.3");
            for (int n = 1; n < 5; n++) {
                kill(me, "gone" + n);
                assertFalse(Files.exists(host.store(me).resolve("gone" + n)));
            }
        });
    }

    // --- limits ------------------------------------------------------------------------------------------------------

    private void limits(Map<String, Way> all) {
        for (String limit : List.of("-f 0", "-f 1", "-n 0", "-n 3", "-n 6", "-n 8", "-u 0", "-u 1", "-v 0", "-v 3000",
                "-v 6000", "-s 0", "-s 16", "-d 0", "-t 0", "-c unlimited", "-l 0")) {
            all.put("a limit of " + limit, () -> {
                Result result = host.shell(me, "printf '%s\\0' 4 /bin/sh -c 'exec >/dev/null 2>&1; exec sleep 1000' x > sleep; ulimit "
                        + limit + "; sudo -n " + program + " start limited < sleep; sudo -n " + program
                        + " check; sudo -n " + program + " freeze mine; sudo -n " + program + " thaw mine; sudo -n " + program
                        + " enter mine < sleep3; sudo -n " + program + " kill limited; sudo -n " + program + " forget limited");
                host.sudo(me, NOTHING, "thaw", "mine");
                assertEquals("running", state(me, "mine"), result::all);
                kill(me, "limited");
                assertFalse(Files.exists(host.store(me).resolve("limited")));
            });
        }
    }

    // --- processes ---------------------------------------------------------------------------------------------------

    private void processes(Map<String, Way> all) {
        for (String way : List.of("attach", "seize", "mem", "environ", "maps", "syscall", "fd", "ns", "vm", "pidfd", "setns",
                "stop", "limits", "kill")) {
            all.put("root's process in its last moment, by " + way, () -> {
                Result result = host.shell(me, ways + " spin " + way + " preemptible 400 & s=$!; n=0; printf '%s\\0' 1 /bin/true >"
                        + " true; while kill -0 $s 2>/dev/null; do sudo -n " + program + " enter mine < true >/dev/null 2>&1 & sudo"
                        + " -n " + program + " enter mine < true > /dev/null 2>&1; sudo -n " + program
                        + " start last$$ < true > /dev/null 2>&1; sudo -n " + program + " kill last$$ >/dev/null; sudo -n "
                        + program + " forget last$$ > /dev/null; done; wait");
                assertTrue(result.out().contains(" won 0\n"), result::all);
                assertFalse(result.out().contains("seen 0 "), result::all);
                endOthers();
            });
        }
        all.put("a process name with parentheses and lines", () -> {
            start(me, "name", "exec " + ways + " name");
            Thread.sleep(50);
            assertEquals("running", state(me, "name"));
            assertEquals(0, host.sudo(me, NOTHING, "freeze", "name").code());
            assertEquals("frozen", state(me, "name"));
            assertEquals(0, host.sudo(me, NOTHING, "thaw", "name").code());
            kill(me, "name");
        });
        all.put("an init whose first thread has ended", () -> {
            Path ticks = me.home().resolve("ticks");
            start(me, "headless", "exec " + ways + " headless " + ticks);
            until(() -> Files.exists(ticks) && Files.size(ticks) > 4, () -> "no ticks");
            assertEquals("running", state(me, "headless"), "its other thread runs");
            refused("STAGE_RUNS", host.sudo(me, NOTHING, "forget", "headless"));
            assertEquals(0, host.sudo(me, NOTHING, "freeze", "headless").code(), "it can be frozen as any other");
            long still = Files.size(ticks);
            Thread.sleep(150);
            assertEquals(still, Files.size(ticks));
            kill(me, "headless");
        });
        all.put("a stage whose processes were moved out of its group", () -> {
            start(me, "moved", IDLE);
            String init = value(me, "moved", "init");
            Path top = Path.of(value(me, "moved", "group")).getParent();
            PrivilegedHost.root("sh", "-c", "echo $1 > $2/cgroup.procs", "sh", init, top.toString());
            kill(me, "moved");
            until(() -> !Files.exists(Path.of("/proc", init, "exe")), () -> "the init outlived its stage");
        });
        all.put("the id of the init in another process", () -> {
            // The small space of ids is a namespace's own, where the kernel has that (Linux 6.14).
            Result result = host.within("exec unshare --pid --fork --mount --mount-proc sh -c 'echo 400 >"
                    + " /proc/sys/kernel/pid_max; exec \"$@\"' sh \"$@\"", me, "max=$(cat /proc/sys/kernel/pid_max); [ $max = 400 ]"
                    + " || { echo no own space of ids; exit; }; while [ $(sh -c 'echo $$') -lt 310 ]; do :; done;"
                    + " printf '%s\\0' 2 /bin/sleep 1000 > sleep; sudo -n " + program
                    + " start again < sleep > answer 2>&1; init=$(sed -n 's/^init //p' answer); kill -9 $init; sleep 0.1; " + ways
                    + " reuse $init; kill -0 $init && echo there; for v in status freeze enter kill status; do sudo -n "
                    + program + " $v again < sleep 2>&1; done; kill -0 $init && echo there still; sudo -n " + program
                    + " forget again");
            if (!result.out().contains("no own space")) {
                assertTrue(result.out().contains("reused\nthere\nok\nstate ended\n"), result::all);
                assertTrue(result.out().contains("refused STAGE_ENDED"), result::all);
                assertTrue(result.out().contains("preemptible: STAGE_ENDED"), result::all);
                assertTrue(result.out().contains("there still\nok\n"), result::all);
            }
            kill(me, "again");
        });
        all.put("tracing the init of one's own stage", () -> {
            start(me, "traced", IDLE);
            String init = value(me, "traced", "init");
            Result result = host.shell(me, "cat /proc/$1/status | grep -E 'CapEff|NoNewPrivs'; ls -l /proc/$1/fd", init);
            assertTrue(result.out().contains("CapEff:\t0000000000000000\nNoNewPrivs:\t1"), result::all);
            assertFalse(result.out().contains(host.place.store().toString()), result::all);
            kill(me, "traced");
        });
    }

    // --- installation ------------------------------------------------------------------------------------------------

    private void installation(Map<String, Way> all) {
        all.put("an installation from a jar of the user's", () -> {
            List<Path> jars = new ArrayList<>(host.source);
            Path jar = write(me, "engine.jar", "");
            jars.add(jar);
            notInstalled(host.place, "%" + host.group, jars, "could change " + jar);
        });
        all.put("an installation from a jar that others may write to", () -> {
            Path jar = Files.writeString(host.base.resolve("writable.jar"), "");
            Files.setPosixFilePermissions(jar, PosixFilePermissions.fromString("rw-rw-r--"));
            notInstalled(host.place, "%" + host.group, List.of(jar), "could change " + jar);
            Files.delete(jar);
        });
        for (String who : List.of("nobody-is-this", "%nobody-is-this", "root", "", "ALL", "a b", "#0", "%#0", me.name() + "\nx",
                "me,other", "!x", "../x", "x".repeat(33))) {
            all.put("an installation for '" + who.replace("\n", "|") + "'", () -> notInstalled(
                    host.place, who, host.source, who.contains("is-this") ? "make it first" : "is no name of a user"));
        }
        for (String path : List.of("relative", "/a/../b", "/a b", "/a\nb", "/a,b", "/a*", "/", "/a\"b", "/a\\b")) {
            all.put("an installation to '" + path.replace("\n", "|") + "'", () -> assertThrows(
                    IllegalArgumentException.class,
                    () -> new PrivilegedInstall(Path.of(path), host.place.store(), host.place.rule())));
        }
        all.put("a store below the user's home", () -> notInstalled(
                new PrivilegedInstall(host.place.program(), me.home().resolve("store"), host.place.rule()), "%" + host.group,
                host.source, "could change"));
        all.put("a program below the user's home", () -> notInstalled(
                new PrivilegedInstall(me.home().resolve("p/preemptible"), host.place.store(), host.place.rule()),
                "%" + host.group, host.source, "could change"));
        all.put("a folder for the program that is a link of the user's", () -> {
            Path closed = Files.createDirectory(host.base.resolve("closed"));
            Files.setPosixFilePermissions(closed, PosixFilePermissions.fromString("rwx------"));
            own(me, Files.createSymbolicLink(me.home().resolve("libexec"), closed));
            notInstalled(
                    new PrivilegedInstall(me.home().resolve("libexec/preemptible"), host.place.store(), host.place.rule()),
                    "%" + host.group, host.source, "could change");
            assertEquals("rwx------", PosixFilePermissions.toString(Files.getPosixFilePermissions(closed)),
                    "root's folder keeps its mode");
            Files.delete(closed);
        });
        for (String tool : List.of("getent", "cc", "as", "ld", "collect2", "sudo", "visudo")) {
            all.put("an installation with a PATH on which the user's " + tool + " comes first", () -> {
                Path fakes = own(me, Files.createDirectories(me.home().resolve("tools-" + tool)));
                Path ran = roots.resolve("ran");
                Path script = script(me, "tools-" + tool + "/" + tool, "touch " + ran + "; exit 1");
                HostTool.Answer answer = installBy("PATH=" + fakes + ":/usr/sbin:/usr/bin:/sbin:/bin");
                boolean wasRun = Files.deleteIfExists(ran);
                assertFalse(wasRun, () -> "root ran " + script + ": " + answer.text());
            });
        }
        all.put("an installation with a compiler's variables", () -> {
            own(me, Files.createDirectories(me.home().resolve("include")));
            write(me, "include/errno.h", "#error \"the user's header\"\n");
            script(me, "include/as", "touch " + roots + "/pwned; exit 1");
            HostTool.Answer answer = installBy("CPATH=" + me.home() + "/include", "C_INCLUDE_PATH=" + me.home() + "/include",
                    "COMPILER_PATH=" + me.home() + "/include", "GCC_EXEC_PREFIX=" + me.home() + "/include/", "LIBRARY_PATH="
                            + me.home(), "TMPDIR=" + me.home(), "CCC_OVERRIDE_OPTIONS=+-include/etc/passwd");
            assertEquals(0, answer.code(), answer::text);
        });
        all.put("an installation twice, with stages", () -> {
            host.place.install("%" + host.group, host.source);
            assertEquals("running", state(me, "mine"));
        });
        all.put("an installation over folders of an earlier version", () -> {
            Path old = Files.createDirectories(host.place.store().resolve("2147400002/sealed"));
            Files.writeString(old.resolve("host.key"), "x");
            Files.createSymbolicLink(old.resolve("link"), roots);
            Files.createDirectories(host.place.store().resolve("view/root"));
            host.place.install("%" + host.group, host.source);
            assertFalse(Files.exists(old.getParent()) || Files.exists(host.place.store().resolve("view")));
            Files.createDirectories(old);
            Files.createDirectories(old.resolveSibling("stages/one"));
            notInstalled(host.place, "%" + host.group, host.source, "Stages of an earlier version");
            StageFolder.delete(old.getParent());
        });
        half(all);
        all.put("a store that others may write to", () -> {
            Files.setPosixFilePermissions(host.place.store(), PosixFilePermissions.fromString("rwxrwxrwx"));
            Result result = host.sudo(me, NOTHING, "status", "mine");
            Files.setPosixFilePermissions(host.place.store(), PosixFilePermissions.fromString("rwx--x--x"));
            assertTrue(result.out().startsWith("refused NO_RIGHTS") && result.out().contains("install"), result::all);
            assertEquals(1, result.out().lines().count());
        });
        all.put("a user's folder in the store that is the user's", () -> {
            PrivilegedHost.root("chown", me.name(), host.store(me).toString());
            Result result = host.sudo(me, NOTHING, "status", "mine");
            PrivilegedHost.root("chown", "0", host.store(me).toString());
            refused("NO_RIGHTS", result);
        });
        all.put("a user's folder in the store that is a link", () -> {
            Path moved = Files.move(host.store(me), host.place.store().resolve("aside"));
            Files.createSymbolicLink(host.store(me), me.home());
            Result result = host.sudo(me, request(IDLE), "start", "linked");
            Files.delete(host.store(me));
            Files.move(moved, host.store(me));
            refused("NO_RIGHTS", result);
        });
        all.put("a record of another version", () -> {
            Path record = Files.createDirectory(host.store(me).resolve("older")).resolve("record");
            for (String text : List.of("", "preemptible 3\n", "{}", "preemptible 2\nrunning\n", "x".repeat(100_000))) {
                Files.writeString(record, text);
                for (String verb : List.of("status", "freeze", "kill", "forget")) {
                    Result result = host.sudo(me, NOTHING, verb, "older");
                    assertTrue(result.out().startsWith("refused NO_RIGHTS"), result::all);
                    assertTrue(result.out().contains("an administrator"), "what can be done: " + result.all());
                }
            }
            StageFolder.delete(record.getParent());
        });
    }

    private void half(Map<String, Way> all) {
        all.put("a program without its store", () -> {
            Path store = host.place.store();
            Path moved = Files.move(store, store.resolveSibling("aside"));
            Result result = host.sudo(me, NOTHING, "version");
            Files.move(moved, store);
            assertTrue(result.out().startsWith("refused NO_RIGHTS") && result.out().contains("install"), result::all);
            assertEquals(1, result.out().lines().count(), "one sentence");
        });
        all.put("a store without its program", () -> {
            Path moved = Files.move(host.place.program(), host.base.resolve("aside"));
            Result result = host.sudo(me, NOTHING, "version");
            Files.move(moved, host.place.program());
            assertTrue(result.code() != 0 && result.out().isEmpty(), result::all);
            assertTrue(result.err().contains("command not found"), result::all);
        });
        all.put("a program without its rule", () -> {
            Path moved = Files.move(host.place.rule(), host.base.resolve("aside"));
            Result result = host.sudo(me, NOTHING, "version");
            Files.move(moved, host.place.rule());
            assertTrue(result.code() != 0 && result.out().isEmpty(), result::all);
        });
    }

    private static void notInstalled(PrivilegedInstall place, String who, List<Path> jars, String why) {
        String words = assertThrows(PrivilegedInstall.RefusedInstall.class, () -> place.install(who, jars)).getMessage();
        assertTrue(words.contains(why), words);
    }

    private HostTool.Answer installBy(String... variables) {
        List<String> command = new ArrayList<>(List.of("/usr/bin/env"));
        command.addAll(List.of(variables));
        command.addAll(List.of(System.getProperty("java.home") + "/bin/java", "-XX:TieredStopAtLevel=1", "-cp",
                host.base.resolve("packed") + "/*", Installation.class.getName(), host.place.program().toString(),
                host.place.store().toString(), host.place.rule().toString(), "%" + host.group, host.source.get(0).toString()));
        return HostTool.run(120, command);
    }

    /** What an administrator's shell calls, with the variables and the PATH that it has. */
    static final class Installation {
        public static void main(String[] words) throws Exception {
            new PrivilegedInstall(Path.of(words[0]), Path.of(words[1]), Path.of(words[2]))
                    .install(words[3], List.of(Path.of(words[4])));
        }
    }

    // --- surroundings ------------------------------------------------------------------------------------------------

    private void surroundings(Map<String, Way> all) {
        String space = "exec unshare -m --propagation private sh -c '";
        all.put("a host that hides processes", () -> {
            Result result = host.within(space + "mount -t proc -o hidepid=2 proc /proc; exec \"$@\"' sh \"$@\"", me,
                    "sudo -n " + program + " status mine; printf '%s\\0' 2 /usr/bin/id -u | sudo -n " + program + " enter mine");
            assertTrue(result.out().startsWith("ok\nstate running\n") && result.out().endsWith("\n" + me.uid() + "\n"), result::all);
        });
        all.put("a file of the user's over what root reads", () -> {
            for (String each : List.of("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/proc/self/cgroup")) {
                Result result = host.shell(me, "printf 'root:x:" + me.uid() + ":0::/:/bin/sh\n' > forged; unshare -Urm sh -c 'mount"
                        + " --bind forged " + each + "; sudo -n " + program + " status mine; SUDO_UID=0 " + program + " version'");
                assertFalse(result.out().contains("ok\n"), result::all);
            }
        });
        all.put("odd mounts of the user's", () -> {
            Path odd = own(me, Files.createDirectories(me.home().resolve("mounts")));
            Result result = host.within(space + "cd " + odd + "; for n in \"two words\" \"x - cgroup2 y z\" \"back\\\\040slash\" \"$(printf"
                    + " \"new\\nline\")\"; do mkdir -p \"$n\"; mount -t tmpfs \"a - cgroup2 b\" \"$n\"; done; exec \"$@\"' sh \"$@\"", me,
                    "sudo -n " + program + " check");
            assertTrue(result.out().startsWith("ok\n"), result::all);
            StageFolder.delete(odd);
        });
        all.put("a program of the user's personality", () -> {
            Result result = host.shell(me, "setarch -R -X -L -Z sudo -n " + program + " status mine; setarch i686 sudo -n " + program
                    + " status mine");
            assertTrue(result.out().contains("state running"), result::all);
        });
    }

    // --- parts -------------------------------------------------------------------------------------------------------

    private List<String> sudo(String... words) {
        List<String> command = new ArrayList<>(List.of("/usr/bin/sudo", "-n", program));
        command.addAll(List.of(words));
        return command;
    }

    private static byte[] body(List<String> command, List<String> environment) {
        StringBuilder text = new StringBuilder(command.size() + "\0");
        command.forEach(word -> text.append(word).append('\0'));
        environment.forEach(word -> text.append(word).append('\0'));
        return bytes(text.toString());
    }

    private static byte[] request(String script) {
        return body(List.of("/bin/sh", "-c", script), List.of(PATH));
    }

    private void start(User user, String id, String script) {
        Result result = host.sudo(user, request("exec >/dev/null 2>&1; " + script), "start", id);
        assertEquals(0, result.code(), result::all);
    }

    private Result enter(User user, String id, String script) {
        return host.sudo(user, request(script), "enter", id);
    }

    private void launchFails(String id, List<String> command) throws Exception {
        Result result = host.sudo(me, body(command, List.of(PATH)), "start", id);
        if (result.code() == 0) {
            until(() -> state(me, id).equals("ended"), () -> "it runs: " + result.all());
            kill(me, id);
        } else {
            refused("LAUNCH_FAILED", result);
        }
        assertFalse(Files.exists(host.store(me).resolve(id)));
    }

    private static void refused(String reason, Result result) {
        assertTrue(result.code() == 1 && result.out().startsWith("refused " + reason + " "), result::all);
    }

    private String value(User user, String id, String name) {
        Result result = host.sudo(user, NOTHING, "status", id);
        return result.out().lines()
                .filter(l -> l.startsWith(name + " "))
                .map(l -> l.substring(name.length() + 1))
                .findFirst()
                .orElseThrow(() -> new AssertionError(result.all()));
    }

    private String state(User user, String id) {
        return value(user, id, "state");
    }

    private List<String> stages(User user) throws IOException {
        try (Stream<Path> all = Files.list(host.store(user))) {
            return all.map(p -> p.getFileName().toString()).toList();
        }
    }

    private void kill(User user, String id) {
        host.sudo(user, NOTHING, "kill", id);
        host.sudo(user, NOTHING, "forget", id);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static Path own(User user, Path path) throws IOException {
        for (Path at = path; at.startsWith(user.home()) && !at.equals(user.home()); at = at.getParent()) {
            Files.setAttribute(at, "unix:uid", (int) user.uid(), LinkOption.NOFOLLOW_LINKS);
        }
        return path;
    }

    private static Path write(User user, String name, String text) throws IOException {
        return own(user, Files.writeString(user.home().resolve(name), text));
    }

    private static Path script(User user, String name, String text) throws IOException {
        Path file = write(user, name, "#!/bin/sh\n" + text + "\n");
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
        return file;
    }

    private static int ownerOf(Path file) throws IOException {
        return (int) Files.getAttribute(file, "unix:uid", LinkOption.NOFOLLOW_LINKS);
    }

    private interface Condition {
        boolean holds() throws IOException;
    }

    private interface Words {
        String of() throws IOException;
    }

    private static void until(Condition condition, Words otherwise) throws Exception {
        long end = System.nanoTime() + 5_000_000_000L;
        while (!condition.holds()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError(otherwise.of());
            }
            Thread.sleep(10);
        }
    }
}
