package io.jenkins.plugins.preemptible.engine.freeze;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A freezer without control groups: SIGSTOP to every process of the tree.
 *
 * <ol>
 *   <li>The tree is everything below the stage's init, which takes every orphan in.
 *   <li>Signals go round until a round finds every process stopped: a running one may fork in between.
 *   <li>Each is sent one SIGSTOP: a second one waits in a stopped process, and CRIU, which lets a stopped process run
 *       on under ptrace, is stopped by it in the middle of its work when another signal (SIGCHLD) waits as well.
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
                : Proc.tree(init.pid()).stream()
                        .filter(s -> !s.zombie())
                        .map(Proc.Stat::pid)
                        .toList();
    }

    @Override
    public void freeze(HostProcess init, Duration limit) throws IOException {
        long end = System.nanoTime() + limit.toNanos();
        Duration round = ROUND;
        long again = System.nanoTime() + round.toNanos();
        Set<HostProcess> asked = new HashSet<>();
        while (!stopped(init, asked)) {
            long now = System.nanoTime();
            if (now - end > 0) {
                thaw(init);
                throw new IOException("not stopped within " + limit.toMillis() + " ms");
            }
            // A parent in vfork(2) stops only after its child began its program, and the child is stopped already.
            boolean stuck = now - again > 0;
            if (stuck) {
                thaw(init);
                asked.clear();
                // On a busy host a tree needs longer than that to stop.
                round = round.multipliedBy(2);
                again = now + round.toNanos();
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

    /** @param asked those that were sent a SIGSTOP which they have not taken yet, as far as is known */
    private static boolean stopped(HostProcess init, Set<HostProcess> asked) {
        List<Proc.Stat> alive =
                Proc.tree(init.pid()).stream().filter(s -> !s.zombie()).toList();
        boolean all = true;
        for (Proc.Stat s : alive) {
            if (s.state() != 'T') {
                all = false;
                if (asked.add(process(s))) {
                    LibC.kill(s.pid(), LibC.SIGSTOP);
                }
            }
        }
        for (Proc.Stat s : all ? alive : List.<Proc.Stat>of()) {
            if (stopWaits(s.pid())) {
                all = false;
                // It takes back every stop that waits.
                LibC.kill(s.pid(), LibC.SIGCONT);
                asked.remove(process(s));
            }
        }
        return all;
    }

    private static HostProcess process(Proc.Stat stat) {
        return new HostProcess(stat.pid(), stat.startTicks(), "");
    }

    /** Whether a process was sent a SIGSTOP when it had one already: by its stage, or while its state was being read. */
    private static boolean stopWaits(long pid) {
        return Proc.pending(pid, LibC.SIGSTOP);
    }

    @Override
    public boolean holds(HostProcess init) {
        return init != null
                && Proc.stat(init.pid())
                        .filter(s -> s.state() == 'T' || s.state() == 't')
                        .isPresent();
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
    public FreezerKind kind() {
        return FreezerKind.SIGNALS;
    }

    @Override
    public String location() {
        return "signals:";
    }
}
