package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.io.IOException;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * A stage's processes, frozen at a moment at which CRIU can dump them.
 *
 * <ol>
 *   <li>{@link #freeze} freezes until everything is below the init and nothing is half started; it may be called again
 *       on a tree that is frozen, which takes no time.
 *   <li>{@link #strangers} are processes that are in the stage's group but not below its init: CRIU would leave them
 *       out, and the kill after the dump would end them.
 *   <li>{@link #refuseTraced} comes before CRIU, which takes a traced process of a frozen tree for a zombie.
 * </ol>
 *
 * The caller holds the stage's lock.
 */
public record FrozenTree(StageId id, Freezer freezer, HostProcess init) {

    private static final Duration FREEZE_LIMIT = TimeLimits.of(Duration.ofSeconds(5));
    /** Sleeping, stopped, traced, zombie. A process that waits in vfork(2) is in none of these states, but in D. */
    private static final Set<Character> AT_REST = Set.of('S', 'T', 't', 'Z');

    private static final Duration ENTRY_LIMIT = TimeLimits.of(Duration.ofSeconds(3));

    /**
     * @return the tree, the init first
     * @throws SuspendFailedException with the reason; the stage may be frozen or not
     */
    public List<Proc.Stat> freeze() throws IOException {
        long end = System.nanoTime() + ENTRY_LIMIT.toNanos();
        while (true) {
            try {
                freezer.freeze(init, FREEZE_LIMIT);
            } catch (IOException e) {
                throw new SuspendFailedException(FailureReason.NO_FREEZER, e.getMessage(), List.of(), e);
            }
            List<Proc.Stat> tree = resting();
            if (tree.isEmpty()) {
                throw new SuspendFailedException(FailureReason.STAGE_ENDED, id.value());
            }
            List<Long> strangers = strangers(tree.stream().map(Proc.Stat::pid).toList());
            // CRIU would wait for the parent, which waits for the child, which is frozen.
            Optional<Proc.Stat> vfork = tree.stream()
                    .filter(s -> !AT_REST.contains(s.state()) && Proc.inVfork(s.pid()))
                    .findFirst();
            if (strangers.isEmpty() && vfork.isEmpty()) {
                return tree;
            }
            freezer.thaw(init);
            if (System.nanoTime() - end > 0) {
                throw strangers.isEmpty()
                        ? new SuspendFailedException(
                                FailureReason.KERNEL_WAIT,
                                "process " + vfork.get().comm())
                        : new SuspendFailedException(FailureReason.ENTERING, name(strangers.get(0)));
            }
            pause(5);
        }
    }

    public void thaw() throws IOException {
        freezer.thaw(init);
    }

    // The kernel counts a process that is about to sleep in vfork(2) as frozen; that it waits there shows only
    // afterwards.
    private List<Proc.Stat> resting() throws IOException {
        List<Proc.Stat> tree = Proc.tree(init.pid());
        for (int i = 0; i < 50 && tree.stream().anyMatch(s -> s.state() == 'R'); i++) {
            pause(1);
            tree = Proc.tree(init.pid());
        }
        return tree;
    }

    private static void pause(long millis) throws IOException {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }

    // Never its arguments: this is shown in build logs and pages.
    private static String name(long pid) {
        String comm = Proc.stat(pid).map(Proc.Stat::comm).orElse("");
        return PlainText.of("process " + pid + (comm.isEmpty() ? "" : " " + comm));
    }

    /** The living processes of the stage's group that are not among the known ones, by process id. */
    List<Long> strangers(List<Long> known) throws IOException {
        Set<Long> all = new HashSet<>(freezer.pids(init));
        all.removeAll(known);
        return all.stream()
                .filter(p -> Proc.stat(p).map(s -> !s.zombie()).orElse(false))
                .sorted()
                .toList();
    }

    /**
     * @throws SuspendFailedException {@link FailureReason#TRACED}
     */
    public static void refuseTraced(List<Proc.Stat> tree) {
        Optional<Proc.Stat> traced =
                tree.parallelStream().filter(s -> Proc.tracer(s.pid()) != 0).findFirst();
        if (traced.isPresent()) {
            String by = Proc.stat(Proc.tracer(traced.get().pid()))
                    .map(Proc.Stat::comm)
                    .orElse("unknown");
            throw new SuspendFailedException(
                    FailureReason.TRACED, "process " + traced.get().comm() + " by " + by);
        }
    }
}
