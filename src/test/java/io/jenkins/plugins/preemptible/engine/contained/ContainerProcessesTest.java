package io.jenkins.plugins.preemptible.engine.contained;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.StageBench;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Which processes of this host are a container's, and which share its process ids without being its own. */
@Tag("host")
class ContainerProcessesTest {

    private static final Duration SOON = Duration.ofSeconds(60);
    /** Makes process ids of its own below those of its container. */
    private static final String NESTED = "exec busybox unshare -p -f sleep ";

    private static Optional<Proc.Stat> running(String command) {
        return Proc.all().stream()
                .filter(process ->
                        !process.zombie() && Proc.commandLine(process.pid()).equals(command))
                .findFirst();
    }

    private static Proc.Stat await(String command) {
        StageBench.until(command, SOON, () -> running(command).isPresent());
        return running(command).orElseThrow();
    }

    private static int depth(long pid) {
        return Proc.statusWords(pid, "NSpid").size();
    }

    @Test
    void processIdsBelowThoseOfTheContainer() throws Exception {
        try (RealContainers real = RealContainers.open("docker")) {
            Path work = Path.of("/tmp");
            ContainerRef container = real.run(work, "--cap-add", "SYS_ADMIN");
            ContainerRef beside = real.run(work, "--cap-add", "SYS_ADMIN", "--pid", "container:" + container.id());
            ContainerRef apart = real.run(work, "--cap-add", "SYS_ADMIN");
            ContainerProcesses processes = new ContainerProcesses(container.id());
            real.exec(container, NESTED + "100001");
            real.exec(beside, NESTED + "100002");
            real.exec(apart, NESTED + "100003");
            Proc.Stat own = await("sleep 100001");
            Proc.Stat strange = await("sleep 100002");
            Proc.Stat others = await("sleep 100003");
            long first = new ContainerTool(container)
                    .inspect(List.of())
                    .orElseThrow()
                    .pid();
            assertEquals(depth(first) + 1, depth(strange.pid()));
            assertTrue(processes.has(own.pid()));
            assertStrange(processes, first, List.of(strange), List.of(own, others));
            // Its parent has ended: it is given to the first process, and its namespace is still below.
            LibC.kill(strange.ppid(), LibC.SIGKILL);
            StageBench.until(
                    "another parent",
                    SOON,
                    () -> Proc.stat(strange.pid()).orElseThrow().ppid() != strange.ppid());
            assertStrange(processes, first, List.of(strange), List.of(own, others));
            assertTrue(ContainerFit.strangers(processes, first)
                    .filter(why -> why.endsWith(": cat, sleep"))
                    .isPresent());
            real.remove(beside.id());
            assertEquals(Optional.empty(), ContainerFit.strangers(processes, first));
        }
    }

    private static void assertStrange(
            ContainerProcesses processes, long first, List<Proc.Stat> strange, List<Proc.Stat> not) throws Exception {
        List<Long> found =
                processes.strangers(first).stream().map(Proc.Stat::pid).toList();
        strange.forEach(process -> assertTrue(found.contains(process.pid()), () -> process + " in " + found));
        not.forEach(process -> assertTrue(!found.contains(process.pid()), () -> process + " in " + found));
    }
}
