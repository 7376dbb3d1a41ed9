package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Data is always under way on a connection inside of a stage, on a host whose packet filter cannot hold it back. */
class BusyConnectionTest {

    private static final Duration SOON = Duration.ofMinutes(1);

    /** An engine that has looked at its host before libnftables is taken away, as far as its own mount namespace goes. */
    static final class WithoutPacketFilter {
        public static void main(String[] words) {
            Engine engine = Engine.open(Path.of(words[0]));
            engine.check();
            HostTool.run(20, List.of("/sbin/ldconfig", "-p")).text().lines()
                    .filter(line -> line.contains("libnftables") && line.contains(" => "))
                    .map(line -> line.substring(line.indexOf(" => ") + 4))
                    .forEach(library -> HostTool.run(20, List.of("/bin/mount", "--bind", "/dev/null", library)));
            try {
                engine.suspend(StageId.parse(words[1]), Path.of(words[2]), ImageKey.generate());
                System.out.println("suspended");
            } catch (SuspendFailedException e) {
                System.out.println("refused: " + e.reason());
            }
        }
    }

    @Test
    void theDumpIsRefusedAndTheStageRunsOn() throws Exception {
        assumeTrue(HostProcess.isRoot() && HostTool.find("unshare").isPresent(), "a mount namespace is needed");
        try (StageBench bench = StageBench.open()) {
            KernelPrograms programs = KernelPrograms.compile(bench.folder);
            StageId id = bench.start(programs.program().toString(), "tcp_under_way").id();
            StageBench.until("ready", SOON, () -> KernelPrograms.ready(bench.work));
            HostTool.Answer answer = HostTool.run(120, List.of(
                    "unshare", "--mount", "--propagation", "private", System.getProperty("java.home") + "/bin/java",
                    "-XX:TieredStopAtLevel=1", "-cp", System.getProperty("java.class.path"),
                    WithoutPacketFilter.class.getName(), bench.folder.resolve("home").toString(), id.value(),
                    bench.archive(id).toString()));
            assertTrue(answer.text().contains("refused: " + FailureReason.BUSY_CONNECTION), answer.text());
            assertEquals(State.RUNNING, bench.engine.status(id).state());
            assertTrue(Files.notExists(bench.archive(id)));

            bench.engine.suspend(id, bench.archive(id), bench.key);
            bench.engine.resume(bench.archive(id), bench.key);
            Files.createFile(bench.work.resolve("go"));
            StageBench.until("the end", SOON, () -> KernelPrograms.ended(bench.work));
            assertEquals("pass", KernelPrograms.result(bench.work), "with it nothing is lost");
        }
    }
}
