package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.User;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What a call that was cut off, a full disk or a crowd of calls leaves behind: nothing that 'kill' and 'forget' cannot end. */
@Tag("host")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class PrivilegedFaultTest {

    private static final byte[] NOTHING = new byte[0];
    private static final byte[] IDLE = ("3\0/bin/sh\0-c\0exec >/dev/null 2>&1; exec /bin/sleep 1000\0PATH=/bin\0")
            .getBytes(StandardCharsets.US_ASCII);

    private PrivilegedHost host;
    private User me;
    private Path top;

    @BeforeAll
    void install() throws Exception {
        host = PrivilegedHost.open();
        me = host.one;
        assertEquals(0, host.sudo(me, IDLE, "start", "first").code());
        top = Path.of(group("first")).getParent();
        end("first");
    }

    @AfterAll
    void remove() throws Exception {
        if (host != null) {
            host.close();
        }
    }

    @Test
    void callsThatAreCutOffLeaveNothingThatCannotBeEnded() throws Exception {
        cutOff(40);
    }

    @Test
    @Tag("tools")
    void manyCallsThatAreCutOffLeaveNothingThatCannotBeEnded() throws Exception {
        cutOff(200);
    }

    private void cutOff(int cuts) throws Exception {
        Random random = new Random(20261122);
        int whole = 0;
        for (int cut = 0; cut < cuts; cut++) {
            String id = "cut" + cut;
            String verb = List.of("start", "start", "check", "freeze", "kill", "forget", "enter")
                    .get(cut % 7);
            if (!verb.equals("start") && !verb.equals("check")) {
                assertEquals(0, host.sudo(me, IDLE, "start", id).code());
            }
            whole += cutOff(verb, id, random.nextInt(9000)) ? 0 : 1;
            Result status = host.sudo(me, NOTHING, "status", id);
            assertTrue(
                    status.out().startsWith("ok\n") || status.out().contains("UNKNOWN_STAGE"), () -> id + status.all());
            end(id);
            assertEquals("", running(), () -> verb + " " + id + " " + status.all());
        }
        assertTrue(whole < cuts, "none was cut off");
        assertTrue(host.sudo(me, NOTHING, "check").out().startsWith("ok\n"));
        nothingIsLeft();
    }

    // As the kernel does for want of memory, or a user who may kill the group in which the call works.
    private boolean cutOff(String verb, String id, int micros) throws Exception {
        List<String> words = new ArrayList<>(List.of(
                "/usr/bin/env",
                "-i",
                "SUDO_UID=" + me.uid(),
                host.place.program().toString(),
                verb));
        if (!verb.equals("check")) {
            words.add(id);
        }
        Process call = new ProcessBuilder(words)
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        try (var in = call.getOutputStream()) {
            in.write(IDLE);
        } catch (IOException e) {
            // It reads none.
        }
        Thread.sleep(micros / 1000, micros % 1000 * 1000);
        call.destroyForcibly();
        return call.waitFor() == 137;
    }

    @Test
    void aFullDiskRefusesAStartAndLeavesNothing() throws Exception {
        String full = "exec unshare -m --propagation private sh -c 'mount -t tmpfs -o size=4k,nr_inodes=" + "%d none "
                + host.place.store() + "; chmod 711 " + host.place.store() + "; %s exec \"$@\"' sh \"$@\"";
        String text = "printf '%s\\0' 2 /bin/sleep 1000 | sudo -n " + host.place.program() + " start full; sudo -n "
                + host.place.program() + " status full; sudo -n " + host.place.program() + " forget full";
        for (int inodes = 1; inodes < 6; inodes++) {
            Result result = host.within(String.format(full, inodes, ""), me, text);
            assertTrue(inodes > 4 || result.out().startsWith("refused "), result::all);
            if (result.out().startsWith("ok\nstate running")) {
                host.shell(me, "pkill -KILL -x sleep");
            }
        }
        Result result = host.within(
                String.format(full, 20, "head -c 9000 /dev/zero > " + host.place.store() + "/fill;"), me, text);
        assertTrue(result.out().startsWith("refused LAUNCH_FAILED"), result::all);
        assertTrue(result.out().contains("refused UNKNOWN_STAGE"), result::all);
        endGroupsWithoutRecord();
        nothingIsLeft();
    }

    // Of stages whose records were on a disk that is gone.
    private void endGroupsWithoutRecord() throws Exception {
        for (Path group : groups()) {
            PrivilegedHost.root(
                    "sh", "-c", "echo 1 > $1/cgroup.kill; until rmdir $1; do sleep 0.02; done", "sh", group.toString());
        }
    }

    @Test
    void manyCallsAtOnceDoNotGetInEachOthersWay() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(12);
        try {
            List<Future<String>> answers = new ArrayList<>();
            for (int each = 0; each < 96; each++) {
                String id = "crowd" + each % 6;
                String verb = List.of("start", "freeze", "status", "thaw", "kill", "forget", "enter", "check")
                        .get(each % 8);
                Callable<String> call = () -> verb.equals("check")
                        ? host.sudo(me, NOTHING, verb).all()
                        : host.sudo(
                                        me,
                                        verb.equals("enter")
                                                ? "1\0/bin/true\0".getBytes(StandardCharsets.US_ASCII)
                                                : IDLE,
                                        verb,
                                        id)
                                .all();
                answers.add(threads.submit(call));
            }
            for (Future<String> answer : answers) {
                String said = answer.get();
                assertTrue(said.isEmpty() || said.matches("(?s)(ok|refused [A-Z_]+ |preemptible: [A-Z_]+: ).*"), said);
            }
        } finally {
            threads.shutdown();
        }
        for (int each = 0; each < 6; each++) {
            end("crowd" + each);
        }
        nothingIsLeft();
    }

    @Test
    @Tag("tools")
    void aProgramThatNeverBeginsIsGivenUpAndHoldsNoLock() throws Exception {
        Path hung = Files.createDirectory(host.base.resolve("hung"));
        // A file system whose server is gone: it answers no request. Its mount is in a namespace of its own.
        String python = "import os,ctypes,sys,time\nf=os.open('/dev/fuse',os.O_RDWR)\nl=ctypes.CDLL(None)\n"
                + "o=('fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other'%f).encode()\n"
                + "r=l.mount(b'hung',sys.argv[1].encode(),b'fuse',0,o)\nassert r==0\nos.set_inheritable(f,True)\n"
                + "os.execvp(sys.argv[2],sys.argv[2:])\n";
        org.junit.jupiter.api.Assumptions.assumeTrue(
                Files.exists(Path.of("/dev/fuse")) && Files.exists(Path.of("/usr/bin/python3")),
                "there is no FUSE here");
        Result result = host.within(
                "exec unshare -m --propagation private /usr/bin/python3 -c \"" + python.replace("\"", "\\\"") + "\" "
                        + hung + " \"$@\"",
                me,
                "printf '%s\\0' 1 " + hung + "/program > hung; (sudo -n " + host.place.program()
                        + " start hung < hung > answer) & sleep 1; timeout 3 sudo -n " + host.place.program()
                        + " status hung; wait; cat answer");
        assertTrue(
                result.out().contains("LAUNCH_FAILED") && result.out().contains("does not begin within"), result::all);
        end("hung");
        nothingIsLeft();
        Files.delete(hung);
    }

    /** Called as sudo would: sudo itself waits as long as it likes for who reads its own words. */
    @Test
    void aReaderThatDoesNotReadHoldsNoProcessOfRootsForLong() {
        // Each in a shell of its own: what the outer one says of its end must not go into the pipe.
        String script =
                "exec 2>/dev/null; mkfifo full && exec 9<>full && { timeout 1 cat /dev/zero >&9; true; } && for words"
                        + " in nothing 'enter nosuch' 'status nosuch'; do (sh -c \"exec env -i SUDO_UID=$1 timeout -s KILL 30 $2"
                        + " $words </dev/null >&9 2>&9\"; echo $?) & done; wait";
        String codes = PrivilegedHost.root(
                "sh",
                "-c",
                "cd $0 && " + script,
                host.base.toString(),
                Long.toString(me.uid()),
                host.place.program().toString());
        assertEquals(List.of("142", "142", "142"), codes.lines().toList(), "each was ended by its alarm");
    }

    @Test
    void nobodyLearnsWhatExists() throws Exception {
        Path closed = Files.createDirectory(host.base.resolve("closed"));
        PrivilegedHost.root("chmod", "700", closed.toString());
        Files.createFile(closed.resolve("there"));
        String there = told(closed.resolve("there"));
        assertTrue(there.contains("LAUNCH_FAILED"), there);
        assertEquals(there, told(closed.resolve("never")));
    }

    private String told(Path path) {
        return host.sudo(me, ("1\0" + path + "\0").getBytes(StandardCharsets.UTF_8), "start", "ask")
                .out();
    }

    @Test
    void whatHadNoEndIsOneStageUntilItIsForgotten() {
        assertEquals(0, host.sudo(me, IDLE, "start", "again").code());
        assertEquals(0, host.sudo(me, NOTHING, "kill", "again").code());
        assertTrue(host.sudo(me, NOTHING, "status", "again").out().contains("state killed"));
        assertNotEquals(0, host.sudo(me, IDLE, "start", "again").code());
        assertEquals(0, host.sudo(me, NOTHING, "forget", "again").code());
        assertEquals(0, host.sudo(me, IDLE, "start", "again").code());
        end("again");
    }

    // --- parts -------------------------------------------------------------------------------------------------------

    private String group(String id) {
        return host.sudo(me, NOTHING, "status", id)
                .out()
                .lines()
                .filter(l -> l.startsWith("group "))
                .findFirst()
                .orElseThrow()
                .substring(6);
    }

    private void end(String id) {
        Result killed = host.sudo(me, NOTHING, "kill", id);
        assertTrue(
                killed.out().equals("ok\n") || killed.out().contains("UNKNOWN_STAGE"), () -> id + ": " + killed.all());
        Result forgotten = host.sudo(me, NOTHING, "forget", id);
        assertTrue(
                forgotten.out().equals("ok\n") || forgotten.out().contains("UNKNOWN_STAGE"),
                () -> id + ": " + forgotten.all());
        assertFalse(Files.exists(host.store(me).resolve(id)), id);
    }

    private List<Path> groups() throws IOException {
        try (Stream<Path> all = Files.list(top)) {
            return all.filter(p -> p.getFileName().toString().startsWith("preemptible-" + me.uid() + "-"))
                    .toList();
        }
    }

    private void nothingIsLeft() throws IOException {
        assertEquals(List.of(), groups(), "groups");
        try (Stream<Path> all = Files.list(host.store(me))) {
            assertEquals(List.of(), all.toList(), "records");
        }
        assertEquals("", running(), "processes");
    }

    // Without those that ended and wait for the host's init.
    private String running() {
        return host.shell(me, "ps -u $(id -u) -o stat=,pid=,comm= | grep sleep | grep -v ^Z")
                .out();
    }
}
