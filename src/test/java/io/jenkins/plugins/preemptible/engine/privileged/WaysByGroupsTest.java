package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;

/** By control groups, and by what else surrounds the privileged part on its host. */
@Tag("host")
class WaysByGroupsTest extends WaysToRoot {

    @Override
    int atLeast() {
        return 18;
    }

    @Override
    void collect(Map<String, Way> all) {
        groups(all);
        surroundings(all);
    }

    private void groups(Map<String, Way> all) {
        for (boolean frozen : List.of(true, false)) {
            all.put("writing to the control group of a stage that " + (frozen ? "is frozen" : "runs"), () -> {
                if (frozen) {
                    assertEquals(0, host.sudo(me, NOTHING, "freeze", "mine").code());
                }
                Result result = host.shell(
                        me,
                        "cd \"$1\"; for f in *; do (echo 0 > $f) 2>/dev/null && echo written $f; done; mkdir x;"
                                + " mv . ../y; rmdir .; echo $2 > ../cgroup.procs; chmod 777 .; ls -ld x",
                        value(me, "mine", "group"),
                        value(me, "mine", "init"));
                assertEquals("", result.out(), result::all);
                assertEquals(frozen ? "frozen" : "running", state(me, "mine"));
                host.sudo(me, NOTHING, "thaw", "mine");
            });
        }
        all.put("leaving the control group from within", () -> {
            Result result = enter(
                    me,
                    "mine",
                    "cat /proc/self/cgroup | tail -1; find /sys/fs/cgroup -name cgroup.procs | while read"
                            + " f; do (echo 0 > $f) 2>/dev/null && echo left to $f; done");
            assertFalse(result.out().contains("left to"), result::all);
        });
        delegated(
                "a start from a control group of the user's",
                "",
                folder -> {
                    Result result = startWithin(folder, "delegated");
                    assertEquals(0, result.code(), result::all);
                    String group = value(me, "delegated", "group");
                    assertFalse(group.startsWith(folder.toString()), group);
                    String init = value(me, "delegated", "init");
                    Result moved = host.within(
                            "echo $$ > " + folder + "/cgroup.procs",
                            me,
                            "echo $1 > $2/cgroup.procs || echo refused",
                            init,
                            folder.toString());
                    assertTrue(moved.out().contains("refused"), moved::all);
                    Result cloned = host.sudo(
                            me,
                            body(
                                    List.of(
                                            ways.toString(),
                                            "into",
                                            folder.toString(),
                                            me.home() + "/escaped",
                                            me.home() + "/why"),
                                    List.of(PATH)),
                            "enter",
                            "delegated");
                    assertEquals(0, cloned.code(), cloned::all);
                    assertFalse(Files.exists(me.home().resolve("escaped")), "a process began outside of the group");
                    assertEquals("Permission denied", Files.readString(me.home().resolve("why")));
                },
                all);
        delegated(
                "a control group of the user's with the folders that are to be expected",
                "for i in one two three; do mkdir preemptible-$(id -u)-expected-$i; done",
                folder -> {
                    assertEquals(0, startWithin(folder, "expected").code());
                    assertFalse(value(me, "expected", "group").startsWith(folder.toString()));
                },
                all);
        delegated(
                "a control group below one of the user's",
                "mkdir -p a/b",
                folder -> {
                    Result result = startWithin(folder.resolve("a/b"), "deep");
                    assertEquals(0, result.code(), result::all);
                    assertFalse(value(me, "deep", "group").startsWith(folder.toString()));
                },
                all);
        delegated(
                "a threaded control group of the user's",
                "mkdir t; echo threaded > t/cgroup.type || :",
                folder -> {
                    assertEquals(0, startWithin(folder, "threaded").code());
                },
                all);
        delegated(
                "a control group whose list of processes alone is the user's",
                "",
                folder -> {
                    PrivilegedHost.root("chown", "0:0", folder.toString());
                    assertEquals(0, startWithin(folder, "listed").code());
                    assertFalse(value(me, "listed", "group").startsWith(folder.toString()));
                },
                all);
        delegated(
                "a control group whose folder alone is the user's",
                "",
                folder -> {
                    PrivilegedHost.root("chown", "0:0", folder + "/cgroup.procs");
                    assertEquals(0, startWithin(folder, "foldered").code());
                    assertFalse(value(me, "foldered", "group").startsWith(folder.toString()));
                },
                all);
        delegated(
                "a control group that everybody may write to",
                "",
                folder -> {
                    PrivilegedHost.root("chown", "0:0", folder.toString(), folder + "/cgroup.procs");
                    PrivilegedHost.root("chmod", "777", folder.toString());
                    assertEquals(0, startWithin(folder, "public").code());
                    assertFalse(value(me, "public", "group").startsWith(folder.toString()));
                },
                all);
        delegated(
                "the caller's control group frozen and killed while root works in it",
                "",
                folder -> {
                    for (int time = 0; time < 8; time++) {
                        String id = "midway" + time;
                        host.within(
                                "(sleep 0.00" + time + "; echo 1 > " + folder + "/cgroup.freeze; sleep 0.03; echo 1 > "
                                        + folder + "/cgroup.kill) >/dev/null 2>&1 & echo $$ > " + folder
                                        + "/cgroup.procs",
                                me,
                                "printf '%s\\0' 2 /bin/sleep" + " 1000 | sudo -n " + program + " start " + id
                                        + " >/dev/null 2>&1");
                        PrivilegedHost.root("sh", "-c", "echo 0 > " + folder + "/cgroup.freeze");
                        kill(me, id);
                        assertFalse(Files.exists(host.store(me).resolve(id)), id);
                    }
                },
                all);
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
            PrivilegedHost.root(
                    "sh",
                    "-c",
                    "echo 1 > $1/cgroup.kill; until rmdir $1; do sleep 0.02; done; mkdir $1",
                    "sh",
                    group.toString());
            refused("STAGE_ENDED", host.sudo(me, NOTHING, "freeze", "replaced"));
            Result killed = host.sudo(me, NOTHING, "kill", "replaced");
            refused("NO_FREEZER", killed);
            Files.delete(group);
            kill(me, "replaced");
        });
        all.put("a host without the second version of control groups", () -> {
            Result result = host.shell(me, "printf '%s\\0' 1 /bin/true > true");
            result = host.within(
                    "exec unshare -m sh -c 'for m in $(grep -F \" - cgroup2 \" /proc/self/mountinfo | cut -d\" \""
                            + " -f5); do umount $m; done; exec \"$@\"' sh \"$@\"",
                    me,
                    "sudo -n " + program + " start none < true");
            refused("NO_FREEZER", result);
            assertFalse(Files.exists(host.store(me).resolve("none")));
        });
        all.put("control groups that are mounted again at an odd place", () -> {
            Path odd = Files.createDirectories(me.home().resolve("od d"));
            own(me, odd);
            Result result = host.within(
                    "exec unshare -m sh -c 'for m in $(grep -F \" - cgroup2 \" /proc/self/mountinfo | cut"
                            + " -d\" \" -f5); do umount $m; done; mount -t cgroup2 none \"" + odd
                            + "\"; exec \"$@\"' sh \"$@\"",
                    me,
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
            PrivilegedHost.root(
                    "sh",
                    "-c",
                    "chown $1: $2 $2/cgroup.procs $2/cgroup.threads $2/cgroup.subtree_control"
                            + " $2/cgroup.freeze $2/cgroup.kill",
                    "sh",
                    me.name(),
                    folder.toString());
            try {
                if (!before.isEmpty()) {
                    host.shell(me, "cd " + folder + "; " + before);
                }
                way.go(folder);
            } finally {
                endOthers();
                PrivilegedHost.root(
                        "sh",
                        "-c",
                        "echo 1 > $1/cgroup.kill; n=0; until [ $n = 100 ] || find $1 -depth -type d"
                                + " -exec rmdir {} +; do n=$((n+1)); sleep 0.02; done",
                        "sh",
                        folder.toString());
            }
        });
    }

    private Result startWithin(Path folder, String id) {
        return host.within(
                "echo $$ > " + folder + "/cgroup.procs",
                me,
                "printf '%s\\0' 3 /bin/sh -c 'exec >/dev/null 2>&1;" + " exec sleep 1000' PATH=/bin:/usr/bin | sudo -n "
                        + program + " start " + id);
    }

    private void surroundings(Map<String, Way> all) {
        String space = "exec unshare -m --propagation private sh -c '";
        all.put("a host that hides processes", () -> {
            Result result = host.within(
                    space + "mount -t proc -o hidepid=2 proc /proc; exec \"$@\"' sh \"$@\"",
                    me,
                    "sudo -n " + program + " status mine; printf '%s\\0' 2 /usr/bin/id -u | sudo -n " + program
                            + " enter mine");
            assertTrue(
                    result.out().startsWith("ok\nstate running\n")
                            && result.out().endsWith("\n" + me.uid() + "\n"),
                    result::all);
        });
        all.put("a file of the user's over what root reads", () -> {
            for (String each : List.of("/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/proc/self/cgroup")) {
                Result result = host.shell(
                        me,
                        "printf 'root:x:" + me.uid() + ":0::/:/bin/sh\n' > forged; unshare -Urm sh -c 'mount"
                                + " --bind forged " + each + "; sudo -n " + program + " status mine; SUDO_UID=0 "
                                + program + " version'");
                assertFalse(result.out().contains("ok\n"), result::all);
            }
        });
        all.put("odd mounts of the user's", () -> {
            Path odd = own(me, Files.createDirectories(me.home().resolve("mounts")));
            Result result = host.within(
                    space + "cd " + odd + "; for n in \"two words\" \"x - cgroup2 y z\" \"back\\\\040slash\" \"$(printf"
                            + " \"new\\nline\")\"; do mkdir -p \"$n\"; mount -t tmpfs \"a - cgroup2 b\" \"$n\"; done; exec \"$@\"' sh \"$@\"",
                    me,
                    "sudo -n " + program + " check");
            assertTrue(result.out().startsWith("ok\n"), result::all);
            StageFolder.delete(odd);
        });
        all.put("a program of the user's personality", () -> {
            Result result = host.shell(
                    me,
                    "setarch -R -X -L -Z sudo -n " + program + " status mine; setarch i686 sudo -n " + program
                            + " status mine");
            assertTrue(result.out().contains("state running"), result::all);
        });
    }
}
