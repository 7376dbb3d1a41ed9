package io.jenkins.plugins.preemptible.engine.container;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.function.Predicate;

/**
 * Ends what a stage has started in one container.
 *
 * <ol>
 *   <li>SIGKILL is sent while the container is paused: none of the processes runs again. {@code docker kill} would let them
 *       run for a moment.
 *   <li>The container runs again. What this process may not kill is killed from inside.
 *   <li>The container's own first process is left alone; the container is removed whole where that is wanted and it is
 *       younger than the stage.
 * </ol>
 *
 * @param init the first process of the stage
 */
record KilledContainer(ContainerRef container, HostProcess init) {

    private static final Duration MOST = Duration.ofSeconds(20);

    /** @param seen what its program says of it, which was checked to be the stage's */
    void kill(ContainerTool.Seen seen, boolean remove) throws IOException {
        if (seen.pid() == 0) {
            return;
        }
        ContainerTool tool = new ContainerTool(container);
        long first = seen.pid();
        ContainerProcesses all = new ContainerProcesses(seen.id());
        boolean own = !StageContainers.startedBy(init, Proc.stat(first).stream().toList())
                .isEmpty();
        List<Proc.Stat> stages = StageContainers.startedBy(init, all.all()).stream()
                .filter(process -> process.pid() != first)
                .toList();
        List<Proc.Stat> spared = stages.stream()
                .filter(process -> !LibC.kill(process.pid(), LibC.SIGKILL))
                .filter(KilledContainer::lives)
                .toList();
        if (seen.paused()) {
            tool.unpause();
        }
        if (remove && own) {
            tool.remove();
        } else if (!spared.isEmpty()) {
            tool.killInside(
                    spared.stream().map(process -> Proc.innerPid(process.pid())).toList());
        }
        awaitEnd(stages);
    }

    private static boolean lives(Proc.Stat process) {
        Predicate<Proc.Stat> same = now -> now.startTicks() == process.startTicks() && !now.zombie();
        return Proc.stat(process.pid()).filter(same).isPresent();
    }

    private void awaitEnd(List<Proc.Stat> killed) throws IOException {
        long end = System.nanoTime() + MOST.toNanos();
        while (killed.stream().anyMatch(KilledContainer::lives)) {
            if (System.nanoTime() - end > 0) {
                throw new IOException("processes of the stage are left in " + container.shown());
            }
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
        }
    }
}
