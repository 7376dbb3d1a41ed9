package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.home.StageLaunch;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;

/** By other users' stages, by paths that lead to root's files, and by open files that are passed on. */
@Tag("host")
class WaysByFilesTest extends WaysToRoot {

    @Override
    int atLeast() {
        return 45;
    }

    @Override
    void collect(Map<String, Way> all) {
        strangers(all);
        paths(all);
        descriptors(all);
    }

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
            Result result = host.shell(
                    me,
                    "kill -9 $1; cat /proc/$1/environ; ls /proc/$1/root/ /proc/$1/fd; echo 1 >"
                            + " $2/cgroup.kill; echo 1 > $2/cgroup.freeze; echo $$ > $2/cgroup.procs; rmdir $2",
                    init,
                    value(other, "theirs", "group"));
            assertEquals("", result.out(), result::all);
            assertEquals("running", state(other, "theirs"));
        });
        all.put("a working folder of another user's", () -> {
            Path own = own(me, Files.createDirectories(me.home().resolve("stages/other")));
            launchFails(
                    "other",
                    StageLaunch.settling(
                            other.home(), "0022", own.resolve("output.log"), own, List.of("/bin/sleep", "1000")));
        });
        all.put("a second name of the same user", () -> {
            String name = me.name() + "z";
            PrivilegedHost.root("useradd", "-o", "-r", "-M", "-u", Long.toString(me.uid()), "-G", "root", name);
            try {
                Result result = enter(me, "mine", "id -G");
                start(me, "named", "id -G > " + me.home() + "/groups; " + IDLE);
                until(
                        () -> Files.exists(me.home().resolve("groups"))
                                && Files.size(me.home().resolve("groups")) > 0,
                        () -> "nothing came");
                for (String said :
                        List.of(result.out(), Files.readString(me.home().resolve("groups")))) {
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
            HostTool.Answer answer =
                    HostTool.run(20, List.of("/usr/bin/env", "-i", "SUDO_UID=2147400001", program, "version"));
            assertTrue(answer.code() != 0 && answer.text().contains("NO_RIGHTS"), answer::text);
            for (String uid : List.of(
                    "0",
                    "00",
                    "-5",
                    "4294967295",
                    "4294967294",
                    "4294967296",
                    "18446744073709551616",
                    "99999999999999999999999",
                    me.uid() + "x",
                    " " + me.uid(),
                    "0x" + Long.toHexString(me.uid()))) {
                answer = HostTool.run(20, List.of("/usr/bin/env", "-i", "SUDO_UID=" + uid, program, "version"));
                assertTrue(answer.code() == 1 && answer.text().contains("refused NO_RIGHTS"), answer::text);
            }
        });
    }

    private void paths(Map<String, Way> all) {
        for (String name : List.of("output.log", "ready", "exit", "mounts")) {
            all.put("a stage's " + name + " that is a link to root's file", () -> {
                Path own = own(me, Files.createDirectories(me.home().resolve("stages/" + name.replace(".", ""))));
                own(me, Files.createSymbolicLink(own.resolve(name), secret));
                String id = "link-" + name.replace(".", "");
                host.sudo(
                        me,
                        body(
                                StageLaunch.settling(
                                        me.home(), "0022", own.resolve("output.log"), own, List.of("/bin/true")),
                                List.of(PATH)),
                        "start",
                        id);
                Thread.sleep(100);
                kill(me, id);
            });
        }
        all.put("a working folder of root's alone", () -> {
            Path own = own(me, Files.createDirectories(me.home().resolve("stages/closed")));
            launchFails(
                    "closed",
                    StageLaunch.settling(
                            host.store(me), "0022", own.resolve("output.log"), own, List.of("/bin/sleep", "1000")));
        });
        all.put(
                "a stage's folder that is root's",
                () -> launchFails(
                        "rooted",
                        StageLaunch.settling(
                                me.home(), "0022", roots.resolve("output.log"), roots, List.of("/bin/sleep", "1000"))));
        all.put(
                "a umask with a command in it",
                () -> launchFails(
                        "mask",
                        StageLaunch.settling(
                                me.home(),
                                "0022; " + evil,
                                Path.of("/dev/null"),
                                me.home(),
                                List.of("/bin/sleep", "1000"))));
        all.put("a working folder that becomes a link to root's while it is entered", () -> {
            own(me, Files.createDirectory(me.home().resolve("honest")));
            Process flip = new ProcessBuilder(
                            "/usr/bin/setpriv",
                            "--reuid",
                            me.name(),
                            "--regid",
                            me.name(),
                            "--init-groups",
                            "--",
                            "/bin/sh",
                            "-c",
                            "cd \"$1\"; while :; do ln -sfn honest racing; ln -sfn \"$2\" racing; done",
                            "sh",
                            me.home().toString(),
                            host.store(me).toString())
                    .start();
            try {
                Path own = own(me, Files.createDirectories(me.home().resolve("stages/race")));
                for (int i = 0; i < 8; i++) {
                    Result result = host.sudo(
                            me,
                            body(
                                    StageLaunch.settling(
                                            me.home().resolve("racing"),
                                            "0022",
                                            own.resolve("output.log"),
                                            own,
                                            List.of("/bin/sleep", "1000")),
                                    List.of(PATH)),
                            "start",
                            "race");
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
                HostTool.Answer answer = HostTool.run(
                        30,
                        List.of(
                                "/usr/bin/setpriv",
                                "--reuid",
                                me.name(),
                                "--regid",
                                me.name(),
                                "--init-groups",
                                "--",
                                "/usr/bin/sudo",
                                "-n",
                                program,
                                "status",
                                "mine"));
                assertTrue(answer.text().startsWith("ok"), answer::text);
            } finally {
                Files.delete(home);
                Files.move(moved, home);
            }
        });
        all.put("reading the records", () -> {
            Path store = host.store(me);
            Result result = host.shell(
                    me,
                    "for f in \"$@\"; do cat \"$f\" || ls \"$f\"; done",
                    host.place.store().toString(),
                    store.toString(),
                    store + "/mine/record",
                    host.store(other) + "/theirs/record");
            assertEquals("", result.out(), result::all);
        });
        all.put("writing to what is installed", () -> {
            Result result = host.shell(
                    me,
                    "for f in \"$@\"; do echo x > \"$f\" || mv \"$f\" \"$f.old\" || ln -s / \"$f.x\"; done",
                    program,
                    program + ".new",
                    host.place.rule().toString(),
                    host.place.store() + "/x",
                    host.place.store().toString(),
                    host.store(me) + "/mine/record.new");
            assertNotEquals(0, result.code(), result::all);
        });
    }

    private void descriptors(Map<String, Way> all) {
        all.put("open files that root would inherit", () -> {
            Result result = host.shell(
                    me,
                    "printf '%s\\0' 2 /bin/ls /proc/self/fd PATH=/bin | sudo -n " + program
                            + " enter mine 3< /etc/passwd 7< /etc/passwd 8> eight 9<> /proc/self/mem");
            assertEquals(List.of("0", "1", "2", "3"), result.out().lines().toList(), result::all);
        });
        all.put("open files of root's that a stage would inherit", () -> {
            start(me, "open", "ls -l /proc/$$/fd > " + me.home() + "/open; " + IDLE);
            until(
                    () -> Files.exists(me.home().resolve("open"))
                            && Files.size(me.home().resolve("open")) > 0,
                    () -> "nothing came");
            String open = Files.readString(me.home().resolve("open"));
            assertFalse(open.contains(host.place.store().toString()) || open.contains("cgroup"), open);
            kill(me, "open");
        });
        for (String closed : List.of("<&-", ">&-", "2>&-", "<&- >&- 2>&-")) {
            for (String verb : List.of("status", "start", "enter")) {
                all.put(verb + " with closed descriptors " + closed, () -> {
                    Result result =
                            host.shell(me, "sudo -n " + program + " " + verb + " mine " + closed + "; ls > /dev/null");
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
            host.shell(
                    me,
                    "exec 5> " + path + " && for v in status freeze thaw; do sudo -n " + program
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
            for (String path : List.of(
                    "/", host.place.store().toString(), secret.toString(), "/proc/self/ns/mnt", "/proc/1/ns/mnt")) {
                Path socket = me.home().resolve("socket");
                start(
                        me,
                        "take",
                        ways + " take " + socket + " /bin/sh -c 'cat " + secret + " store/*/*/record > " + me.home()
                                + "/loot-take; ./usr/bin/sudo -n " + program + " version > " + me.home() + "/took'");
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
                Result result = host.shell(
                        me,
                        ways + " take " + socket + " /bin/sh -c 'cat " + secret
                                + "; ./usr/bin/sudo -n /bin/sh; readlink /proc/self/ns/mnt'");
                assertEquals(Files.readSymbolicLink(Path.of("/proc/self/ns/mnt")) + "\n", result.out(), result::all);
                kill(me, "give");
                Files.deleteIfExists(socket);
            }
        });
    }
}
