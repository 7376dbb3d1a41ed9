package io.jenkins.plugins.preemptible.engine.container;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.contained.ContainerProcesses;
import io.jenkins.plugins.preemptible.engine.contained.ContainerTool;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import java.io.IOException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.Predicate;
import java.util.stream.Stream;

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

    private static final Duration MOST = TimeLimits.of(Duration.ofSeconds(20));

    /** @param seen what its program says of it, which was checked to be the stage's */
    void kill(ContainerTool.Seen seen, boolean remove) throws IOException {
        if (seen.pid() == 0) {
            return;
        }
        ContainerTool tool = new ContainerTool(container);
        List<Proc.Stat> all = new ContainerProcesses(seen.id()).all();
        boolean own = all.stream().anyMatch(process -> process.pid() == seen.pid() && isYounger(process));
        List<Proc.Stat> stages = stages(all, seen.pid());
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
        awaitEnd(seen);
    }

    /**
     * What the stage has started: nothing that is older than its own first process, nor what such a process has started since.
     *
     * @param first the container's own first process, to which orphans fall
     */
    private List<Proc.Stat> stages(List<Proc.Stat> all, long first) {
        Map<Long, Proc.Stat> others = new HashMap<>();
        all.stream().filter(process -> process.pid() != first).forEach(process -> others.put(process.pid(), process));
        return others.values().stream()
                .filter(process -> Stream.iterate(process, Objects::nonNull, of -> others.get(of.ppid()))
                        .allMatch(this::isYounger))
                .toList();
    }

    private boolean isYounger(Proc.Stat process) {
        return init != null && init.bootId().equals(Proc.bootId()) && process.startTicks() >= init.startTicks();
    }

    private static boolean lives(Proc.Stat process) {
        Predicate<Proc.Stat> same = now -> now.startTicks() == process.startTicks() && !now.zombie();
        return Proc.stat(process.pid()).filter(same).isPresent();
    }

    /** In a container that was not paused, a process may have started another one at the last moment. */
    private void awaitEnd(ContainerTool.Seen seen) throws IOException {
        long end = System.nanoTime() + MOST.toNanos();
        List<Proc.Stat> left = stages(new ContainerProcesses(seen.id()).all(), seen.pid());
        while (!left.isEmpty()) {
            left.forEach(process -> LibC.kill(process.pid(), LibC.SIGKILL));
            if (System.nanoTime() - end > 0) {
                throw new IOException("processes of the stage are left in " + container.shown());
            }
            try {
                Thread.sleep(10);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
            left = stages(new ContainerProcesses(seen.id()).all(), seen.pid());
        }
    }
}
