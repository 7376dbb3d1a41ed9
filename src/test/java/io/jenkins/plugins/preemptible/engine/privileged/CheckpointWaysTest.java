package io.jenkins.plugins.preemptible.engine.privileged;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedHost.Result;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * Ways from a user with checkpoints to root, by what {@code dump} and {@code restore} are given, and by what happens meanwhile.
 *
 * <p>After each one root's files are as they were, nothing of root's lies in the user's home, no process of the stages has more
 * than its user, nothing of CRIU's is left, and the privileged part still dumps.
 */
@Tag("host")
@Tag("tools")
class CheckpointWaysTest extends RootsSecret {

    private static final String IDLE = "exec <&- >&- 2>&-; exec sleep 1000";
    private static final String CALL =
            "call() { verb=$1; id=$2; shift 2; rm -f done; { printf '%s\\0' $# \"$@\"; n=0; until [ -e done ] ||"
                    + " [ $n -gt 200 ]; do n=$((n+1)); sleep 0.02; done; } | { [ -z \"$LIMIT\" ] || ulimit $LIMIT; sudo -n \"$PROGRAM\" $verb $id;"
                    + " code=$?; : > done; return $code; }; }; ";

    private String mounts;

    @BeforeAll
    void install() throws Exception {
        Optional<Criu> criu = new CriuSearch().usable();
        assumeTrue(criu.isPresent(), "no CRIU works on this host");
        secretOn(PrivilegedHost.open(criu.get().program()));
        host.place.install(other.name(), host.source, criu.get().program());
        start(me, "own", IDLE);
        start(me, "second", IDLE);
        start(other, "theirs", IDLE);
        String init = value(me, "own", "init");
        mounts = String.join("' 'mount=", Mounts.ofHost(Files.readAllLines(Path.of("/proc", init, "mountinfo"))));
        mounts = "'mount=" + mounts + "'";
        assertEquals(0, host.sudo(me, NOTHING, "freeze", "own").code());
        Result dumped = run("mkdir good; call dump own \"$PWD/good\" \"$PWD/l\" " + mounts);
        assertTrue(dumped.out().contains("code 0"), dumped.all());
    }

    private Result run(String text) {
        return host.shell(
                me,
                "PROGRAM=" + host.place.program()
                        + "; chmod -R u+rwx . 2>/dev/null; find . -mindepth 1 -maxdepth 1 ! -name good -exec rm -rf {} +;"
                        + " mkdir i l; " + CALL + text);
    }

    private Stream<Arguments> ways() {
        var all = new CheckpointWays(roots, host.two.home(), host.place.store()).all;
        assertTrue(all.size() >= 100, () -> "only " + all.size());
        return all.entrySet().stream().map(way -> Arguments.of(way.getKey(), way.getValue()));
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("ways")
    void aWayToRootIsClosed(String name, String way) {
        Result seen = run(way.replace(
                "call restore new \"$PWD/i\" \"$PWD/l\"", "call restore new \"$PWD/i\" \"$PWD/l\" " + mounts));
        assertFalse(seen.out().contains(SECRET) || seen.err().contains(SECRET), seen.all());
        boolean foreign = name.matches(
                ".*(of root's home|in /etc|of root's|another user's|records|that is the top|no stage|that runs)");
        assertFalse(foreign && seen.out().matches("(?s).*(code 0|state running).*"), seen.all());
    }

    /** A caller that is killed leaves what {@code kill} and {@code forget} clean up. */
    @ParameterizedTest
    @MethodSource("moments")
    void aCallThatIsKilledLeavesNothingThatStays(String verb, long afterMillis) throws Exception {
        String id = verb.equals("dump") ? "own" : "new";
        CompletableFuture<Result> call = CompletableFuture.supplyAsync(
                () -> run("cp good/* i; call " + verb + " " + id + " \"$PWD/i\" \"$PWD/l\" " + mounts));
        killed(verb, id, afterMillis);
        call.get(60, TimeUnit.SECONDS);
        if (verb.equals("dump")) {
            assertEquals(0, host.sudo(me, NOTHING, "thaw", id).code());
            assertEquals(0, host.sudo(me, NOTHING, "freeze", id).code());
        }
    }

    private static Stream<Arguments> moments() {
        return Stream.of("dump", "restore")
                .flatMap(verb -> Stream.of(0, 5, 10, 20, 30, 50, 70, 90, 120, 150)
                        .map(after -> Arguments.of(verb, (long) after)));
    }

    private boolean killed(String verb, String id, long afterMillis) throws Exception {
        String words = host.place.program() + " " + verb + " " + id;
        long end = System.nanoTime() + 5_000_000_000L;
        while (System.nanoTime() < end) {
            Optional<ProcessHandle> program = ProcessHandle.allProcesses()
                    .filter(p -> p.info().commandLine().orElse("").equals(words))
                    .findFirst();
            if (program.isPresent()) {
                Thread.sleep(afterMillis);
                return program.get().destroyForcibly();
            }
            Thread.sleep(1);
        }
        return false;
    }

    /** Its CRIU waits for a reader of its output, holding no lock of root's. */
    @org.junit.jupiter.api.Test
    void aKilledDumpWhoseCriuHangsDoesNotKeepTheStage() throws Exception {
        start(me, "hung", IDLE);
        CompletableFuture<Result> call =
                CompletableFuture.supplyAsync(() -> run("mkfifo l/dump.out; call dump hung \"$PWD/i\" \"$PWD/l\""));
        assertTrue(killed("dump", "hung", 500));
        long start = System.nanoTime();
        Result kill = host.sudo(me, NOTHING, "kill", "hung");
        assertEquals(0, kill.code(), kill.all());
        assertTrue(System.nanoTime() - start < 5_000_000_000L);
        assertEquals(0, host.sudo(me, NOTHING, "forget", "hung").code());
        call.get(60, TimeUnit.SECONDS);
    }

    @AfterEach
    void nothingOfCriuIsLeft() throws Exception {
        if (Files.exists(host.store(me).resolve("new"))) {
            Result kill = host.sudo(me, NOTHING, "kill", "new");
            assertEquals(0, kill.code(), kill.all());
            assertEquals(0, host.sudo(me, NOTHING, "forget", "new").code());
        }
        assertEquals("frozen", value(me, "own", "state"));
        assertEquals("running", value(me, "second", "state"));
        String substitute = Long.toString(2100000000L + me.uid());
        for (Proc.Stat each : Proc.all()) {
            boolean ended = Proc.statusWords(each.pid(), "State").contains("Z");
            assertFalse(
                    !ended && Proc.statusWords(each.pid(), "Uid").contains(substitute),
                    () -> each + " is the substitute's");
        }
        try (Stream<Path> stages = Files.list(host.store(me))) {
            assertEquals(
                    List.of("own", "second"),
                    stages.map(s -> s.getFileName().toString()).sorted().toList());
        }
    }
}
