package io.jenkins.plugins.preemptible.engine.freeze;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * A freezer without control groups: SIGSTOP to every process of the tree.
 *
 * <ol>
 *   <li>The tree is everything below the stage's init, which takes every orphan in.
 *   <li>Signals go round until a round finds every process stopped: a running one may fork in between.
 *   <li>Thawing continues every process, those too that had stopped themselves: a signal cannot tell them apart.
 * </ol>
 */
public final class SignalFreezer implements Freezer {

    private static final Duration ROUND = Duration.ofMillis(100);

    SignalFreezer() {}

    @Override
    public void create() {
        // Nothing to make: the tree is the group.
    }

    @Override
    public Optional<Path> cgroup() {
        return Optional.empty();
    }

    @Override
    public Optional<Path> joinFile() {
        return Optional.empty();
    }

    @Override
    public List<Long> pids(HostProcess init) {
        return init == null || !init.alive()
                ? List.of()
                : Proc.tree(init.pid()).stream().filter(s -> !s.zombie()).map(Proc.Stat::pid).toList();
    }

    @Override
    public void freeze(HostProcess init, Duration limit) throws IOException {
        long end = System.nanoTime() + limit.toNanos();
        long again = System.nanoTime() + ROUND.toNanos();
        while (!stopped(init)) {
            long now = System.nanoTime();
            if (now - end > 0) {
                thaw(init);
                throw new IOException("not stopped within " + limit.toMillis() + " ms");
            }
            // A parent in vfork(2) stops only after its child began its program, and the child is stopped already.
            boolean stuck = now - again > 0;
            if (stuck) {
                thaw(init);
                again = now + ROUND.toNanos();
            }
            try {
                Thread.sleep(stuck ? 5 : 1);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                thaw(init);
                throw new IOException("interrupted", e);
            }
        }
    }

    private static boolean stopped(HostProcess init) {
        boolean all = true;
        for (Proc.Stat s : Proc.tree(init.pid())) {
            if (!s.zombie() && s.state() != 'T') {
                all = false;
                LibC.kill(s.pid(), LibC.SIGSTOP);
            }
        }
        return all;
    }

    @Override
    public boolean holds(HostProcess init) {
        return init != null && Proc.stat(init.pid()).filter(s -> s.state() == 'T' || s.state() == 't').isPresent();
    }

    @Override
    public void thaw(HostProcess init) {
        for (long pid : pids(init)) {
            LibC.kill(pid, LibC.SIGCONT);
        }
    }

    @Override
    public void kill(HostProcess init) {
        // The kernel kills the whole PID namespace with its init, stopped or not.
        if (init != null && init.alive()) {
            LibC.kill(init.pid(), LibC.SIGKILL);
        }
    }

    @Override
    public void remove() {
        // Nothing was made.
    }

    @Override
    public String location() {
        return "signals:";
    }
}
