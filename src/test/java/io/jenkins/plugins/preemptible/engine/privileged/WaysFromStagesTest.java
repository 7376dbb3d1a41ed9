package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Tag;

/** By what a stage's processes do: namespaces, setuid programs, signals, limits, and the moment in which root works. */
@Tag("host")
class WaysFromStagesTest extends WaysToRoot {

    @Override
    int atLeast() {
        return 70;
    }

    @Override
    void collect(Map<String, Way> all) {
        namespaces(all);
        setuid(all);
        signals(all);
        limits(all);
        processes(all);
    }

    private void namespaces(Map<String, Way> all) {
        for (String way : List.of("hijack", "hijack-child", "hijack-nested")) {
            for (String kinds : List.of("user", "user,mnt", "user,mnt,pid", "user,mnt,pid,ipc")) {
                all.put(
                        "a stage whose "
                                + way.replace("hijack", "init hijacks")
                                        .replace("init hijacks-child", "child hijacks")
                                        .replace("init hijacks-nested", "init hijacks three times")
                                + " " + kinds,
                        () -> {
                            Path ready = me.home().resolve("ready-" + way);
                            Result started = host.sudo(
                                    me,
                                    body(
                                            List.of(ways.toString(), way, kinds, evil.toString(), ready.toString()),
                                            List.of(PATH)),
                                    "start",
                                    "hijack");
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
            Result started = host.sudo(
                    me,
                    body(
                            List.of("/bin/sh", "-c", IDLE),
                            List.of(
                                    PATH,
                                    "LD_PRELOAD=" + library,
                                    "WAY=user,mnt",
                                    "WAY_EVIL=" + evil,
                                    "WAY_READY=" + ready)),
                    "start",
                    "hijack");
            assertEquals(0, started.code(), started::all);
            assertEquals(0, host.sudo(me, request("true"), "enter", "hijack").code(), "not yet");
            until(() -> Files.exists(ready) && Files.size(ready) > 0, () -> "never hijacked");
            enterHijacked("hijack");
        });
        all.put("a namespace with the number of the one that was left", () -> {
            Path ready = me.home().resolve("ready-number");
            Path left = me.home().resolve("left-number");
            Result started = host.sudo(
                    me,
                    body(
                            List.of(
                                    ways.toString(),
                                    "hijack-number",
                                    "user,mnt",
                                    evil.toString(),
                                    ready.toString(),
                                    left.toString()),
                            List.of(PATH)),
                    "start",
                    "hijack");
            assertEquals(0, started.code(), started::all);
            until(() -> Files.exists(ready) && Files.size(ready) > 0, () -> "never hijacked");
            Result entered = host.sudo(me, request("id -u"), "enter", "hijack");
            assertEquals(125, entered.code(), entered::all);
            enterHijacked("hijack");
        });
        all.put("the stage's namespaces from outside", () -> {
            String init = value(me, "mine", "init");
            Result result = host.shell(
                    me,
                    "for n in mnt pid ipc user; do nsenter --$n=/proc/$1/ns/$n id -u; done; nsenter -t $1"
                            + " -a id -u; unshare -Ur nsenter -t $1 -m id -u; unshare -Ur nsenter -t $1 -p id -u",
                    init);
            assertFalse(result.out().contains("0\n") && result.out().lines().anyMatch("0"::equals), result::all);
        });
        all.put("root's namespaces from a stage", () -> {
            Result result = enter(
                    me,
                    "mine",
                    "for p in 1 $PPID; do nsenter -t $p -a id -u; nsenter -t $p -m cat " + secret
                            + "; cat /proc/$p/root" + secret + "; done");
            assertFalse(result.out().contains(SECRET) || result.out().lines().anyMatch("0"::equals), result::all);
        });
        all.put("mounting, chroot and namespaces in a stage", () -> {
            Result result =
                    enter(me, "mine", ways + " mount; echo $?; mount -t tmpfs x /mnt; umount /proc; pivot_root . .");
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

    private void setuid(Map<String, Way> all) {
        Map<String, String> gains = new LinkedHashMap<>();
        gains.put("sudo in a stage", "sudo -n " + program + " version");
        gains.put("sudo of another mount in a stage", "/proc/1/root/usr/bin/sudo -n " + program + " version");
        gains.put("su in a stage", "timeout 0.3 su -c 'id -u' < /dev/null");
        gains.put("the program itself in a stage", "SUDO_UID=$(id -u) " + program + " version");
        gains.put("a setuid program of root's in a stage", host.base + "/setuid -u");
        gains.put("a program with capabilities in a stage", host.base + "/capable -c 'cat " + secret + "'");
        gains.put(
                "a setuid program in a user namespace in a stage",
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
            assertFalse(
                    said.contains("0") || said.contains("ok") || result.out().contains(SECRET), result::all);
            Files.delete(setuid);
            Files.delete(capable);
        }));
        all.put("sudo through a stage's root from outside", () -> {
            Result result =
                    host.shell(me, "/proc/$1/root/usr/bin/sudo -n " + program + " version", value(me, "mine", "init"));
            assertFalse(result.out().contains("ok"), result::all);
        });
        all.put("a program that a stage leaves behind as setuid", () -> {
            enter(me, "mine", "cp /bin/dash " + me.home() + "/left; chmod 6755 " + me.home() + "/left");
            assertEquals(me.uid(), ownerOf(me.home().resolve("left")));
            Result result = host.shell(me, "./left -p -c 'id -u'");
            assertEquals(me.uid() + "\n", result.out(), result::all);
        });
    }

    private void signals(Map<String, Way> all) {
        all.put("signals to root's process", () -> {
            Result result = host.shell(
                    me,
                    "sleep 0.6 | sudo -n " + program + " enter mine & sleep 0.2; for q in"
                            + " $(pgrep -u 0 -f '^" + program
                            + " enter mine'); do for s in KILL STOP TERM HUP INT QUIT USR1 SEGV; do"
                            + " kill -$s $q && echo sent $s; done; done; wait");
            assertFalse(result.out().contains("sent"), result::all);
        });
        Map<String, String> typed =
                Map.of("an interrupt", "\u0003", "a quit", "\u001c", "a stop", "\u001a", "an end of file", "\u0004");
        typed.forEach((name, key) -> all.put(name + " from the terminal", () -> {
            Result result = host.call(
                    me,
                    Map.of(),
                    NOTHING,
                    List.of(
                            "/bin/sh",
                            "-c",
                            "ulimit -c unlimited; cd /etc/cron.d" + " 2>/dev/null || cd /etc; exec \"$@\"",
                            "sh",
                            ways.toString(),
                            "terminal",
                            key,
                            "/bin/sh",
                            "-c",
                            "trap '' INT QUIT TSTP; n=0; while [ $n -lt 12 ]; do n=$((n+1)); (trap - INT QUIT TSTP; exec sudo -n "
                                    + program + " freeze mine); (trap - INT QUIT; exec sudo -n " + program
                                    + " thaw mine); done"));
            host.sudo(me, NOTHING, "thaw", "mine");
            assertEquals("running", state(me, "mine"), result::all);
            for (String folder : List.of("/", "/etc", "/etc/cron.d")) {
                assertFalse(Files.exists(Path.of(folder, "core")), "root left a core in " + folder);
            }
        }));
        all.put("a timer that ends root's process", () -> {
            for (int micros = 4000; micros < 24_000; micros += 4000) {
                host.call(
                        me,
                        Map.of(),
                        request(IDLE),
                        List.of(
                                ways.toString(),
                                "timer",
                                "" + micros,
                                "/usr/bin/sudo",
                                "-n",
                                program,
                                "start",
                                "timed"));
                kill(me, "timed");
                assertFalse(Files.exists(host.store(me).resolve("timed")));
            }
        });
        all.put("every signal ignored and blocked", () -> {
            Result result = host.call(
                    me,
                    Map.of(),
                    request("exit 3"),
                    List.of(ways.toString(), "deaf", "/usr/bin/sudo", "-n", program, "enter", "mine"));
            assertEquals(3, result.code(), result::all);
        });
        all.put("a core of root's process where the user wants it", () -> {
            Path line = Path.of("/etc/cron.d");
            String at = Files.isDirectory(line) ? line.toString() : "/etc";
            host.shell(
                    me,
                    "cd " + at + "; ulimit -c unlimited; sudo -n " + program + " status '\n* * * * * root " + evil
                            + "\n'; printf '%s\\0' 3 /bin/sh -c 'kill -QUIT $$' | sudo -n " + program
                            + " start core; ulimit -s 8;"
                            + " sudo -n " + program + " status mine; ulimit -v 4000; sudo -n " + program
                            + " status mine");
            kill(me, "core");
            assertFalse(Files.exists(Path.of(at, "core")) || Files.exists(Path.of("/core")));
            Result limit = enter(me, "mine", "ulimit -H -c");
            assertEquals("0\n", limit.out(), "sudo's own default keeps cores off");
        });
        all.put("a counter that root's process may not read", () -> {
            host.call(
                    me,
                    Map.of(),
                    NOTHING,
                    List.of(ways.toString(), "counter", "/usr/bin/sudo", "-n", program, "freeze", "mine"));
            host.sudo(me, NOTHING, "thaw", "mine");
            assertEquals("running", state(me, "mine"));
        });
        all.put("a caller that is gone", () -> {
            host.shell(
                    me,
                    "printf '%s\\0' 2 /bin/sleep 1000 > sleep; for n in 1 2 3 4; do setsid sh -c 'sudo -n " + program
                            + " start gone$1 < sleep >/dev/null 2>&1 & exec sleep 0.00$1' sh $n; kill -9 $!; done; sleep 0.3");
            for (int n = 1; n < 5; n++) {
                kill(me, "gone" + n);
                assertFalse(Files.exists(host.store(me).resolve("gone" + n)));
            }
        });
    }

    private void limits(Map<String, Way> all) {
        for (String limit : List.of(
                "-f 0",
                "-f 1",
                "-n 0",
                "-n 3",
                "-n 6",
                "-n 8",
                "-u 0",
                "-u 1",
                "-v 0",
                "-v 3000",
                "-v 6000",
                "-s 0",
                "-s 16",
                "-d 0",
                "-t 0",
                "-c unlimited",
                "-l 0")) {
            all.put("a limit of " + limit, () -> {
                Result result = host.shell(
                        me,
                        "printf '%s\\0' 4 /bin/sh -c 'exec >/dev/null 2>&1; exec sleep 1000' x > sleep; ulimit "
                                + limit + "; sudo -n " + program + " start limited < sleep; sudo -n " + program
                                + " check; sudo -n " + program + " freeze mine; sudo -n " + program
                                + " thaw mine; sudo -n " + program
                                + " enter mine < sleep3; sudo -n " + program + " kill limited; sudo -n " + program
                                + " forget limited");
                host.sudo(me, NOTHING, "thaw", "mine");
                assertEquals("running", state(me, "mine"), result::all);
                kill(me, "limited");
                assertFalse(Files.exists(host.store(me).resolve("limited")));
            });
        }
    }

    private void processes(Map<String, Way> all) {
        for (String way : List.of(
                "attach", "seize", "mem", "environ", "maps", "syscall", "fd", "ns", "vm", "pidfd", "setns", "stop",
                "limits", "kill")) {
            all.put("root's process in its last moment, by " + way, () -> {
                Result result = host.shell(
                        me,
                        ways + " spin " + way + " preemptible 400 & s=$!; n=0; printf '%s\\0' 1 /bin/true >"
                                + " true; while kill -0 $s 2>/dev/null; do sudo -n " + program
                                + " enter mine < true >/dev/null 2>&1 & sudo"
                                + " -n " + program + " enter mine < true > /dev/null 2>&1; sudo -n " + program
                                + " start last$$ < true > /dev/null 2>&1; sudo -n " + program
                                + " kill last$$ >/dev/null; sudo -n "
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
            Result result = host.within(
                    "exec unshare --pid --fork --mount --mount-proc sh -c 'echo 400 >"
                            + " /proc/sys/kernel/pid_max; exec \"$@\"' sh \"$@\"",
                    me,
                    "max=$(cat /proc/sys/kernel/pid_max); [ $max = 400 ]"
                            + " || { echo no own space of ids; exit; }; while [ $(sh -c 'echo $$') -lt 310 ]; do :; done;"
                            + " printf '%s\\0' 2 /bin/sleep 1000 > sleep; sudo -n " + program
                            + " start again < sleep > answer 2>&1; init=$(sed -n 's/^init //p' answer); kill -9 $init; sleep 0.1; "
                            + ways
                            + " reuse $init; kill -0 $init && echo there; for v in status freeze enter kill status; do sudo -n "
                            + program + " $v again < sleep 2>&1; done; kill -0 $init && echo there still; sudo -n "
                            + program
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
            Result result =
                    host.shell(me, "cat /proc/$1/status | grep -E 'CapEff|NoNewPrivs'; ls -l /proc/$1/fd", init);
            assertTrue(result.out().contains("CapEff:\t0000000000000000\nNoNewPrivs:\t1"), result::all);
            assertFalse(result.out().contains(host.place.store().toString()), result::all);
            kill(me, "traced");
        });
    }
}
