package io.jenkins.plugins.preemptible.engine.live.memory;

import io.jenkins.plugins.preemptible.engine.host.HostMemory;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Which processes of a tree are copied, so that CRIU need not write their memory while they stand still.
 *
 * <ol>
 *   <li>Small ones are not worth a copy: their memory is read while they stand still. Nor is a small stage as a whole.
 *   <li>A tree with a process that this does not fit is not copied at all: one with a filter of system calls, one that is
 *       stopped.
 *   <li>The host needs as much memory again as the copied processes have: what they change meanwhile is there twice.
 * </ol>
 *
 * @param copied process ids of this host
 * @param others the rest of the tree without zombies
 */
public record CopyPlan(List<Long> copied, List<Long> others) {

    /** Of a process; less is read in some milliseconds. */
    private static final long LARGE = 8L << 20;
    /** Of all large ones together. */
    private static final long WORTH_IT = 48L << 20;

    private static final int MOST_PROCESSES = 200;
    private static final String ARCHITECTURE = "amd64";

    public CopyPlan {
        copied = List.copyOf(copied);
        others = List.copyOf(others);
    }

    /** The program that makes the copies. */
    static Optional<String> perl() {
        return HostTool.find("perl").map(Object::toString);
    }

    /** Whether the tree has so much memory that copying is worth it. */
    public static boolean isWorthIt(List<Proc.Stat> tree) {
        return tree.stream()
                        .mapToLong(each -> Proc.residentBytes(each.pid()))
                        .filter(bytes -> bytes >= LARGE)
                        .sum()
                >= WORTH_IT;
    }

    /**
     * Why this tree cannot be copied, a sentence without a final stop; empty when nothing is known against it. What it
     * finds may change until the tree is frozen.
     */
    public static Optional<String> obstacle(List<Proc.Stat> tree) {
        if (!ARCHITECTURE.equals(System.getProperty("os.arch"))) {
            return Optional.of("processes are copied on x86-64 only");
        }
        if (perl().isEmpty()) {
            return Optional.of("the agent's host has no Perl");
        }
        if (tree.size() > MOST_PROCESSES) {
            return Optional.of("it has more than " + MOST_PROCESSES + " processes");
        }
        Optional<Proc.Stat> filtered =
                tree.stream().filter(each -> Proc.filtersCalls(each.pid())).findFirst();
        if (filtered.isPresent()) {
            return Optional.of("process " + filtered.get().comm() + " has a filter of system calls");
        }
        Optional<Proc.Stat> stopped =
                tree.stream().filter(each -> each.state() == 'T').findFirst();
        if (stopped.isPresent()) {
            return Optional.of("process " + stopped.get().comm() + " is stopped");
        }
        long bytes =
                tree.stream().mapToLong(each -> Proc.residentBytes(each.pid())).sum();
        return HostMemory.now().availableBytes() < 2 * bytes
                ? Optional.of("the agent's host has not as much memory again")
                : Optional.empty();
    }

    /** @param frozen the tree as it is to be copied */
    public static CopyPlan of(List<Proc.Stat> frozen) {
        List<Long> copied = new ArrayList<>();
        List<Long> others = new ArrayList<>();
        for (Proc.Stat each : frozen) {
            if (!each.zombie()) {
                (Proc.residentBytes(each.pid()) >= LARGE ? copied : others).add(each.pid());
            }
        }
        return new CopyPlan(copied, others);
    }
}
