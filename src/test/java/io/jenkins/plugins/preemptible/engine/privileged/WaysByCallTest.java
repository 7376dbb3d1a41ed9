package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Tag;

/** By what a call is given: its words, its environment, sudo's own options, its request. */
@Tag("host")
class WaysByCallTest extends WaysToRoot {

    @Override
    int atLeast() {
        return 110;
    }

    @Override
    void collect(Map<String, Way> all) {
        words(all);
        environment(all);
        rule(all);
        requests(all);
    }

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
                        "climbs",
                        "../../../../etc",
                        "is the folder above",
                        "..",
                        "is the folder",
                        ".",
                        "is absolute",
                        "/etc/shadow",
                        "is an option",
                        "--help",
                        "has two lines",
                        "mine\nmine",
                        "is too long",
                        "a".repeat(4000))
                .forEach((name, id) -> wrong.put("an id that " + name, List.of("kill", id)));
        Map.of(
                        "of 64 characters",
                        "a".repeat(64),
                        "of other letters",
                        "m\u0131ne",
                        "in capitals",
                        "MINE",
                        "with a blank",
                        "mine ",
                        "with a slash behind",
                        "mine/",
                        "that is empty",
                        "",
                        "with a format",
                        "%n%s%p",
                        "with a wildcard",
                        "*",
                        "of the program's own",
                        "-check")
                .forEach((name, id) -> wrong.put("an id " + name, List.of("start", id)));
        wrong.forEach((name, words) -> all.put(name, () -> {
            Result result = host.sudo(me, request("true"), words.toArray(String[]::new));
            assertEquals(2, result.code(), result::all);
            assertEquals("", result.out());
        }));
    }

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
        kinds.put(
                "the loader",
                Map.of(
                        "LD_PRELOAD",
                        library.toString(),
                        "LD_AUDIT",
                        library.toString(),
                        "LD_LIBRARY_PATH",
                        me.home().toString(),
                        "LD_DEBUG",
                        "all",
                        "LD_DEBUG_OUTPUT",
                        me.home() + "/pwned",
                        "WAY",
                        "mark",
                        "WAY_MARK",
                        mark.toString()));
        kinds.put(
                "the shell",
                Map.of(
                        "BASH_ENV",
                        evil.toString(),
                        "ENV",
                        evil.toString(),
                        "IFS",
                        "/",
                        "PS4",
                        "$(" + evil + ")",
                        "SHELLOPTS",
                        "xtrace",
                        "BASH_FUNC_id%%",
                        "() { " + evil + "; }",
                        "CDPATH",
                        "/"));
        kinds.put(
                "the C library",
                Map.of(
                        "GCONV_PATH",
                        me.home().toString(),
                        "LOCPATH",
                        me.home().toString(),
                        "NLSPATH",
                        me.home() + "/%N",
                        "TZ",
                        ":" + secret,
                        "TZDIR",
                        me.home().toString(),
                        "MALLOC_CHECK_",
                        "3",
                        "GLIBC_TUNABLES",
                        "glibc.malloc.check=3:glibc.malloc.perturb=255",
                        "HOSTALIASES",
                        secret.toString(),
                        "RES_OPTIONS",
                        "debug",
                        "LANGUAGE",
                        "../../../../" + me.home()));
        kinds.put(
                "sudo",
                Map.of(
                        "SUDO_ASKPASS",
                        evil.toString(),
                        "SUDO_EDITOR",
                        evil.toString(),
                        "VISUAL",
                        evil.toString(),
                        "SUDO_PS1",
                        "x",
                        "SUDO_COMMAND",
                        "/bin/sh",
                        "HOME",
                        me.home().toString(),
                        "SHELL",
                        evil.toString(),
                        "TMPDIR",
                        me.home().toString(),
                        "MAIL",
                        secret.toString()));
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
            assertEquals(
                    0,
                    host.call(me, variables, request(IDLE), sudo("start", "path"))
                            .code());
            assertEquals(
                    0, host.call(me, variables, NOTHING, sudo("freeze", "path")).code());
            kill(me, "path");
        });
        all.put("a request whose environment is for root", () -> {
            byte[] body = body(
                    List.of("/bin/sh", "-c", IDLE),
                    List.of(
                            PATH,
                            "LD_PRELOAD=" + library,
                            "WAY_MARK=" + mark,
                            "WAY=mark",
                            "SUDO_UID=0",
                            "BASH_ENV=" + evil,
                            "ENV=" + evil,
                            "IFS=/",
                            "=",
                            "NO_EQUALS",
                            "PATH=/nowhere",
                            "\n;" + evil + "\n=x"));
            assertEquals(0, host.sudo(me, body, "start", "preload").code());
            until(() -> Files.exists(mark) && Files.size(mark) > 0, () -> "the library was never loaded");
            assertEquals("user", Files.readString(mark), "and only by what is the user's already");
            Files.delete(mark);
            assertEquals(
                    0,
                    host.sudo(
                                    me,
                                    body(
                                            List.of("/bin/true"),
                                            List.of("LD_PRELOAD=" + library, "WAY_MARK=" + mark, "WAY=mark")),
                                    "enter",
                                    "preload")
                            .code());
            assertEquals("user", Files.readString(mark));
            Files.delete(mark);
            kill(me, "preload");
        });
        all.put("a name and a language of odd bytes", () -> {
            Map<String, String> variables =
                    Map.of("LC_ALL", "%n/../..", "LANG", "C%s", "TERM", "../../x", "DISPLAY", "`id`");
            assertEquals(
                    0, host.call(me, variables, NOTHING, sudo("status", "mine")).code());
        });
    }

    private void rule(Map<String, Way> all) {
        Map<String, String> refusedCalls = new LinkedHashMap<>();
        refusedCalls.put("sudo as another user", "sudo -n -u " + other.name() + " " + program + " status theirs");
        refusedCalls.put("a shell by the same rule", "sudo -n /bin/sh -c " + evil);
        refusedCalls.put(
                "a path that leads out of the program", "sudo -n " + program + "/../../../../../bin/sh -c " + evil);
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
        refusedCalls.put(
                "a copy of the program at home", "cp " + program + " preemptible; sudo -n ./preemptible version");
        refusedCalls.put("the program without sudo", "SUDO_UID=0 " + program + " status mine");
        refusedCalls.put("the program with an own SUDO_UID", "SUDO_UID=$(id -u) " + program + " status mine");
        refusedCalls.put(
                "the program as root of a user namespace",
                "SUDO_UID=" + other.uid() + " unshare -Ur " + program + " status theirs");
        refusedCalls.put(
                "the program as root of a user namespace with namespaces of its own",
                "SUDO_UID=$(id -u) unshare -Urmpf --mount-proc " + program + " status mine");
        refusedCalls.put("sudo in a user namespace", "unshare -Ur sudo -n " + program + " version");
        refusedCalls.put(
                "sudo in a user namespace with rules of its own",
                "echo 'ALL ALL=(ALL) NOPASSWD: ALL' > own; chmod 440 own;"
                        + " unshare -Urm sh -c 'mount --bind own /etc/sudoers; sudo -n " + evil + "'");
        refusedCalls.put("sudo without new rights", "setpriv --no-new-privs sudo -n " + program + " version");
        refusedCalls.put(
                "sudo that shares its folder with another process",
                ways + " share /usr/bin/sudo -n " + program + " version");
        refusedCalls.put("sudo that is traced", ways + " trace /usr/bin/sudo -n " + program + " version");
        refusedCalls.forEach((name, command) -> all.put(name, () -> {
            Result result = host.shell(me, command);
            assertNotEquals(0, result.code(), result::all);
            assertFalse(result.out().contains("ok\n"), result::all);
        }));
        for (String option : List.of("-P", "-H", "-b", "-g root", "-u '#0'", "-T 100 -k")) {
            all.put("the rule with sudo " + option, () -> {
                Result result = host.shell(
                        me,
                        "sudo -n " + option + " " + program + " status mine; sudo -n " + option + " " + program
                                + " start opt </dev/null; sleep 0.2");
                assertFalse(result.out().contains("ok\n") && !result.out().contains("state running"), result::all);
                assertFalse(Files.exists(host.store(me).resolve("opt")));
            });
        }
        all.put("a link of the program's name that becomes another program", () -> {
            Path link = me.home().resolve("links");
            own(me, Files.createDirectory(link));
            Result result = host.shell(
                    me,
                    "cd links; (i=0; while [ $i -lt 600 ]; do i=$((i+1)); ln -sfn " + program
                            + " preemptible; ln -sfn " + evil
                            + " preemptible; done) & i=0; while [ $i -lt 25 ]; do i=$((i+1)); sudo -n "
                            + link + "/preemptible version; done; wait");
            assertFalse(result.out().contains("77"), result::all);
        });
        all.put("what the user may see of the rule", () -> {
            Result result = host.shell(
                    me,
                    "cat " + host.place.rule() + "; echo x >> " + host.place.rule() + "; rm -f " + host.place.rule());
            assertEquals("", result.out());
            assertTrue(Files.exists(host.place.rule()));
        });
    }

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
        for (String count : List.of(
                "0",
                "-1",
                "+1",
                " 1",
                "1 ",
                "0x1",
                "01",
                "3",
                "99",
                "1.5",
                "4294967297",
                "18446744073709551617",
                "18446744073709551615",
                "9223372036854775808",
                "1".repeat(5000))) {
            String shown = count.length() > 30 ? "of five thousand digits" : "of '" + count + "'";
            wrong.put("a count " + shown, bytes(count + "\0/bin/sh\0-c\0"));
        }
        wrong.put("a request that is too long", Arrays.copyOf(request(IDLE), HelperRequest.LARGEST + 1));
        wrong.forEach((name, body) -> all.put(name, () -> {
            refused("BAD_SPEC", host.sudo(me, body, "start", "wrong"));
            assertFalse(Files.exists(host.store(me).resolve("wrong")));
            Result result = host.sudo(me, body, "enter", "mine");
            assertTrue(
                    result.code() == 125
                            && result.out().isEmpty()
                            && result.err().contains("BAD_SPEC"),
                    result::all);
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
        all.put(
                "a request from a folder",
                () -> refused("BAD_SPEC", host.shell(me, "sudo -n " + program + " start folder < /tmp")));
        all.put(
                "a request from a pipe that does not block",
                () -> refused(
                        "BAD_SPEC",
                        host.shell(me, ways + " nonblocking /usr/bin/sudo -n " + program + " start folder")));
        all.put("a request that never comes holds nothing up", () -> {
            start(me, "waits", IDLE);
            Result result = host.shell(
                    me,
                    "sleep 1 | sudo -n " + program + " enter waits & sleep 1 | sudo -n "
                            + program + " start other & sleep 0.2; sudo -n " + program + " kill waits && sudo -n "
                            + program
                            + " forget waits; wait");
            assertEquals("ok\nok\n", result.out().replaceAll("refused.*\n", ""), result::all);
        });
        all.put("arguments of odd bytes reach the program alone", () -> {
            byte[] body = body(
                    List.of(
                            "/bin/sh",
                            "-c",
                            "printf %s \"$1\" > \"$HOME/odd\"",
                            "sh",
                            "\n$(" + evil + ")`" + evil + "`\u0001\u00ff%n"),
                    List.of("HOME=" + me.home(), PATH));
            assertEquals(0, host.sudo(me, body, "enter", "mine").code());
            assertEquals(
                    "\n$(" + evil + ")`" + evil + "`\u0001\u00ff%n",
                    Files.readString(me.home().resolve("odd")));
        });
    }
}
