package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** While a preemptor runs, criu and the packing are idle; while somebody waits for them, they are not. */
@Tag("host")
class HandoverTest {

    private static final Duration SOON = Duration.ofSeconds(60);

    @Test
    void theDumpIsIdleWhenTheExecutorIsGiven() throws Exception {
        try (StageBench bench = StageBench.open()) {
            StageId id = bench.start(
                            "bash", "-c", "x=$(head -c 40000000 /dev/urandom | base64 -w 0); touch ready; sleep 1000")
                    .id();
            StageBench.until("the memory", SOON, () -> Files.exists(bench.work.resolve("ready")));
            int own = nice(Path.of("/proc/thread-self/stat"));
            for (Handover handover : Handover.values()) {
                long floor = handover == Handover.AT_FREEZE ? 0 : Long.MAX_VALUE;
                assertEquals(
                        handover,
                        bench.engine
                                .freeze(id, new FreezeRequest(DumpGuard.NONE, floor))
                                .handover());
                var dump = CompletableFuture.supplyAsync(
                        () -> bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.THAW));
                Set<Integer> criu = new TreeSet<>();
                Set<Integer> packing = new TreeSet<>();
                while (!dump.isDone()) {
                    Proc.tree(ProcessHandle.current().pid()).stream()
                            // It is asked for its version as well.
                            .filter(s -> s.comm().equals("criu")
                                    && Proc.commandLine(s.pid()).contains(" dump "))
                            .forEach(s -> criu.add(nice(Path.of("/proc/" + s.pid() + "/stat"))));
                    packing.addAll(packingThreads());
                }
                dump.join();
                criu.remove(Integer.MIN_VALUE);
                packing.remove(Integer.MIN_VALUE);
                // The first look at a thread may be the one before it made itself idle.
                packing.removeIf(n -> handover == Handover.AT_FREEZE && n == own);
                int expected = handover == Handover.AT_FREEZE ? 19 : own;
                assertEquals(Set.of(expected), criu, handover + ": nice of criu");
                assertEquals(Set.of(expected), packing, handover + ": nice of the packing thread");
                bench.engine.thaw(id);
            }
        }
    }

    private static Set<Integer> packingThreads() {
        Set<Integer> found = new TreeSet<>();
        String[] threads = Path.of("/proc/self/task").toFile().list();
        for (String thread : threads == null ? new String[0] : threads) {
            Path stat = Path.of("/proc/self/task", thread, "stat");
            try {
                if (Files.readString(stat).contains("(preemptible-pac")) {
                    found.add(nice(stat));
                }
            } catch (IOException e) {
                // Ended meanwhile.
            }
        }
        return found;
    }

    /** Field 19 of proc(5)'s stat; the least number of all for one that ended. */
    private static int nice(Path stat) {
        try {
            String line = Files.readString(stat);
            return Integer.parseInt(line.substring(line.lastIndexOf(')') + 2).split(" ")[16]);
        } catch (IOException e) {
            return Integer.MIN_VALUE;
        }
    }
}
