package io.jenkins.plugins.preemptible.engine.contained;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageContainer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * The other processes of a stage's container, which stand still while CRIU dumps or restores the stage.
 *
 * <ol>
 *   <li>At a dump, one of the same user could else write into the code that CRIU puts into a frozen process, and CRIU, which is the host's
 *       root, believes what that code tells.
 *   <li>At a restore it could put a link where CRIU is about to mount something.
 *   <li>They are moved into a group of their own below the container's, and that is frozen: whatever they do to each other, none
 *       runs. {@link #close} brings them back.
 *   <li>Processes of another container that shares the process ids cannot be moved, and are refused.
 *   <li>What the container's program starts there meanwhile is in none of these groups and runs. A container with a health check is
 *       none for stages, also when it gets one while it runs; what somebody starts by {@code docker exec} is found by
 *       {@link #requireNone}, also when it has ended by then: see {@link ContainerEvents}.
 *   <li>What a caller that died has left there is brought back by the next step on the stage ({@link #release}).
 * </ol>
 *
 * The caller holds the stage's lock.
 */
public final class Bystanders implements AutoCloseable {

    private static final Duration LIMIT = Duration.ofSeconds(5);
    /** A process that starts others all the time is caught once it is frozen itself. */
    private static final int ROUNDS = 20;

    private final Freezer group;
    private final Instant since = Instant.now();

    private Bystanders(Freezer group) {
        this.group = group;
    }

    /**
     * Returns when none of them runs any more.
     *
     * @throws IOException when that cannot be reached; they run again then
     */
    public static Bystanders hold(StageId id, StageContainer container, Freezer stage) throws IOException {
        Bystanders others = new Bystanders(
                FreezerKind.createBelow(id, stage.kind(), container.first().pid()));
        boolean done = false;
        try {
            boolean held = false;
            for (int round = 0; round < ROUNDS && !held; round++) {
                move(others.home(), others.group.joinFile().orElseThrow());
                others.group.freeze(null, LIMIT);
                held = others.holdsAll(container, stage);
                if (!held) {
                    others.group.thaw(null);
                }
            }
            if (!held) {
                throw new IOException("the other processes of the container cannot be held still: "
                        + names(others.others(container, stage)));
            }
            if (new ContainerTool(container.container()).checksHealth()) {
                throw new IOException("the container has a health check by now, which its program starts also now");
            }
            done = true;
            return others;
        } finally {
            if (!done) {
                others.close();
            }
        }
    }

    // Another stage in the container is in a group of its own, which is not ours to move.
    private boolean holdsAll(StageContainer container, Freezer stage) throws IOException {
        return others(container, stage).isEmpty();
    }

    /** What runs in the container, or beside it with the same process ids, and stands still neither with these nor with the stage. */
    private List<Proc.Stat> others(StageContainer container, Freezer stage) throws IOException {
        ContainerProcesses processes =
                new ContainerProcesses(container.container().id());
        List<Proc.Stat> all = new ArrayList<>(processes.all());
        all.addAll(processes.strangers(container.first().pid()));
        Set<Long> still = new HashSet<>(group.pids(null));
        still.addAll(stage.pids(null));
        // A restored stage runs, and its processes end: one that is still there was in its group when that was asked
        // for.
        return all.stream()
                .filter(process -> !still.contains(process.pid()) && isThere(process))
                .toList();
    }

    private static boolean isThere(Proc.Stat process) {
        return Proc.stat(process.pid())
                .filter(now -> !now.zombie() && now.startTicks() == process.startTicks())
                .isPresent();
    }

    private static String names(List<Proc.Stat> processes) {
        return processes.stream().map(Proc.Stat::comm).distinct().sorted().collect(Collectors.joining(", "));
    }

    /**
     * Refuses what was done meanwhile, when something new runs in the container, or ran there: it could have changed what was read of
     * the stage. Takes as long as one or two calls of the container's program.
     *
     * @throws IOException when it does or did, or when the program does not tell
     */
    public void requireNone(StageContainer container, Freezer stage) throws IOException {
        requireNoneNow(container, stage);
        ContainerTool tool = new ContainerTool(container.container());
        if (new ContainerEvents(tool, container.container().id()).startedSince(since)) {
            throw new IOException(
                    "something was started in the container while CRIU worked on the stage, and has ended again");
        }
    }

    /**
     * The same for what still runs there, within milliseconds: the program, which may take long to answer, is not asked.
     *
     * @throws IOException when something new runs in the container
     */
    public void requireNoneNow(StageContainer container, Freezer stage) throws IOException {
        List<Proc.Stat> others = others(container, stage);
        if (!others.isEmpty()) {
            throw new IOException(
                    "something was started in the container while CRIU worked on the stage: " + names(others));
        }
    }

    /** Brings back what a {@link #hold} that was cut off has left; without effect otherwise. */
    public static void release(StageId id, StageContainer container, String stage) throws IOException {
        for (Freezer left : FreezerKind.below(id, container.first().pid())) {
            if (!left.location().equals(stage)) {
                new Bystanders(left).close();
            }
        }
    }

    /** The cgroup.procs file of the container's own group. */
    private Path home() throws IOException {
        Path own = group.cgroup().orElseThrow(() -> new IOException("it is no control group"));
        return own.resolveSibling("cgroup.procs");
    }

    private static List<String> pids(Path procs) throws IOException {
        return Files.readAllLines(procs);
    }

    private static void move(Path from, Path to) throws IOException {
        for (String pid : pids(from)) {
            try {
                Files.writeString(to, pid, StandardOpenOption.WRITE);
            } catch (IOException e) {
                // It has ended, or is about to.
                if (Proc.stat(Long.parseLong(pid))
                                .filter(process -> !process.zombie())
                                .isPresent()
                        && !Proc.exiting(Long.parseLong(pid))) {
                    throw e;
                }
            }
        }
    }

    @Override
    public void close() throws IOException {
        group.thaw(null);
        Path from = group.joinFile().orElseThrow(() -> new IOException("it is no control group"));
        for (int round = 0; round < ROUNDS && Files.exists(from) && !pids(from).isEmpty(); round++) {
            move(from, home());
        }
        group.remove();
    }
}
