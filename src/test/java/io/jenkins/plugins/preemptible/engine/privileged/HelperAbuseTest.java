package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.User;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;

/** What a user does to keep a stage from being ended, root from coming to an end, or something of root's for good. */
@Tag("host")
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
class HelperAbuseTest {

    private static final byte[] NOTHING = new byte[0];

    private PrivilegedHost host;
    private User me;

    @BeforeAll
    void install() throws Exception {
        host = PrivilegedHost.open();
        me = host.one;
    }

    @AfterAll
    void remove() throws Exception {
        if (host != null) {
            host.close();
        }
    }

    private Result start(String id, String... command) {
        return host.sudo(me, HelperRequest.of(List.of(command), Map.of("PATH", "/usr/bin:/bin")), "start", id);
    }

    private void ok(String verb, String id) {
        Result result = host.sudo(me, NOTHING, verb, id);
        assertTrue(result.out().startsWith("ok"), () -> verb + ": " + result.all());
    }

    private Path compiled(String name, String source, String... options) throws Exception {
        Path file = Files.writeString(host.base.resolve(name + ".c"), source);
        Path program = host.base.resolve(name);
        List<String> words = new java.util.ArrayList<>(List.of("cc"));
        words.addAll(List.of(options));
        words.addAll(List.of("-o", program.toString(), file.toString()));
        PrivilegedHost.root(words.toArray(String[]::new));
        return program;
    }

    private static long number(Path file) throws IOException {
        String text = Files.exists(file) ? Files.readString(file).trim() : "";
        return text.isEmpty() ? -1 : Long.parseLong(text);
    }

    @Test
    void anInitWhoseFirstThreadHasEndedIsFrozenAndKilled() throws Exception {
        Path count = me.home().resolve("count");
        Path program = compiled("leaderless", """
                #include <pthread.h>
                #include <stdio.h>
                #include <unistd.h>
                static void *work(void *path) {
                  for (int i = 0;; i++) {
                    char next[500]; snprintf(next, sizeof next, "%s.next", (char *) path);
                    FILE *f = fopen(next, "w"); fprintf(f, "%d\\n", i); fclose(f); rename(next, path);
                    usleep(10000);
                  }
                }
                int main(int c, char **v) { pthread_t t; pthread_create(&t, 0, work, v[1]); pthread_exit(0); }
                """, "-pthread");
        assertEquals(
                0, start("leaderless", program.toString(), count.toString()).code());
        Thread.sleep(500);
        assertTrue(number(count) > 0);
        ok("freeze", "leaderless");
        long still = number(count);
        Thread.sleep(300);
        assertEquals(still, number(count), "it stands still");
        ok("thaw", "leaderless");
        ok("kill", "leaderless");
        long last = number(count);
        Thread.sleep(300);
        assertEquals(last, number(count), "nothing of it runs");
        ok("forget", "leaderless");
    }

    @Test
    void aCallThatIsCutOffByALimitLeavesNothing() throws Exception {
        long before = groups();
        for (String limit : List.of("-n 9", "-n 12", "-n 20", "-f 0", "-v 3000", "-s 8", "-t 0")) {
            for (String verb : List.of("check", "start cut")) {
                host.shell(
                        me,
                        "ulimit " + limit + "; printf '1\\0/bin/true\\0' | sudo -n " + host.place.program() + " "
                                + verb);
            }
            host.sudo(me, NOTHING, "kill", "cut");
            host.sudo(me, NOTHING, "forget", "cut");
        }
        assertEquals(0, host.sudo(me, NOTHING, "check").code());
        assertEquals(before, groups(), "groups of this user");
        try (Stream<Path> records = Files.list(host.store(me))) {
            assertEquals(List.of(), records.filter(r -> r.endsWith("cut")).toList());
        }
    }

    private long groups() throws IOException {
        try (Stream<Path> all = Files.walk(Path.of("/sys/fs/cgroup"), 4)) {
            return all.filter(p -> p.getFileName().toString().startsWith("preemptible-" + me.uid() + "-"))
                    .count();
        }
    }

    // In one test, since both have to wait for the same limit of the privileged part.
    @Test
    void aRequestThatNeverEndsAndAnAnswerThatNobodyReadsHoldNobodyUp() throws Exception {
        assertEquals(0, start("unread", "/bin/sleep", "1000").code());
        Path endless = me.home().resolve("endless");
        Path full = me.home().resolve("full");
        PrivilegedHost.root("mkfifo", "-m", "666", endless.toString(), full.toString());
        // Opened for both by itself, so no writer ever goes away.
        CompletableFuture<Result> asks = CompletableFuture.supplyAsync(() -> host.shell(
                me,
                "sudo -n \"$1\" start endless <> \"$2\"",
                host.place.program().toString(),
                endless.toString()));
        CompletableFuture<Result> answers = CompletableFuture.supplyAsync(() -> host.shell(
                me,
                "exec 7<> \"$2\"; dd if=/dev/zero bs=4096 count=16 >&7 2>/dev/null; sudo -n \"$1\" thaw unread >&7",
                host.place.program().toString(),
                full.toString()));
        Thread.sleep(1500);
        assertFalse(asks.isDone() || answers.isDone(), "both still wait");
        ok("kill", "unread");
        answers.get(30, TimeUnit.SECONDS);
        ok("forget", "unread");
        Result given = asks.get(30, TimeUnit.SECONDS);
        assertFalse(given.code() == 0, given::all);
        assertEquals(1, host.sudo(me, NOTHING, "status", "endless").code());
    }

    @Test
    void aVariableThatTheHostKeepsForOtherProgramsIsNotKept() throws Exception {
        Path library = compiled("keep.so", """
                #include <stdio.h>
                #include <unistd.h>
                __attribute__((constructor)) static void loaded(void) {
                  FILE *f = geteuid() == 0 ? fopen(WHERE, "w") : NULL;
                  if (f) fclose(f);
                }
                """, "-shared", "-fPIC", "-DWHERE=\"" + me.home() + "/loaded-by-root\"");
        Path kept = Path.of("/etc/sudoers.d/" + host.group + "-keep");
        Files.writeString(kept, "Defaults:" + me.name() + " env_keep += \"LD_PRELOAD\"\n");
        try {
            Result result = host.call(
                    me,
                    Map.of("LD_PRELOAD", library.toString()),
                    NOTHING,
                    List.of("sudo", "-n", host.place.program().toString(), "version"));
            assertTrue(result.out().startsWith("ok"), result::all);
            assertFalse(Files.exists(me.home().resolve("loaded-by-root")));
        } finally {
            Files.delete(kept);
        }
    }

    @Test
    void anotherUsersInstallationKeepsTheFirstOnes() throws Exception {
        host.place.install(host.two.name(), host.source);
        String rule = Files.readString(host.place.rule());
        assertEquals(
                2,
                rule.lines()
                        .filter(l -> l.endsWith("NOPASSWD: " + host.place.program()))
                        .count(),
                rule);
        for (User each : List.of(me, host.two)) {
            assertEquals(0, host.sudo(each, NOTHING, "version").code());
        }
    }

    @Test
    void nobodyEntersBeforeTheStageIsComplete() throws Exception {
        for (int time = 0; time < 20; time++) {
            String id = "early" + time;
            CompletableFuture<Result> starting = CompletableFuture.supplyAsync(() -> start(id, "/bin/sleep", "1000"));
            while (!starting.isDone()) {
                Result entered = host.sudo(
                        me,
                        HelperRequest.of(List.of("/bin/readlink", "/proc/self/ns/pid", "/proc/1/ns/pid"), Map.of()),
                        "enter",
                        id);
                List<String> seen = entered.out().lines().toList();
                assertTrue(seen.size() != 2 || seen.get(0).equals(seen.get(1)), () -> "the host's /proc: " + seen);
            }
            ok("kill", id);
            ok("forget", id);
        }
    }
}
