package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.stage.CriuOptions;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * What the preflight of a stage found.
 *
 * @param obstacles what stops a dump, the worst first; empty when nothing does
 * @param options what criu has to be given for this tree
 */
public record PreflightReport(List<Obstacle> obstacles, CriuOptions options) {

    /**
     * A process outside would wait for the stage or give it up, it holds hardware that others may want, or it cannot be
     * frozen whole. All others are limits of CRIU's.
     */
    private static final Set<FailureReason> OF_FREEZE = Set.of(
            FailureReason.ENTERING,
            FailureReason.ESCAPED,
            FailureReason.TRACED,
            FailureReason.CONNECTED_TCP,
            FailureReason.MIXED_CONNECTIONS,
            FailureReason.UNIX_SOCKET_OUTSIDE,
            FailureReason.FANOTIFY,
            FailureReason.FUSE_DEVICE,
            FailureReason.GPU_DEVICE,
            FailureReason.DEVICE,
            FailureReason.TUN_DEVICE,
            FailureReason.DMA_BUFFER);

    /** Frozen, it would hold others up, or part of it would run on. */
    private static final Set<FailureReason> NEVER_FROZEN = Set.of(
            FailureReason.ESCAPED,
            FailureReason.FANOTIFY,
            FailureReason.FUSE_DEVICE,
            FailureReason.CONTAINER_UNREACHABLE);

    /** A moment later the stage may be dumped: it is not worth to be frozen for their sake. */
    private static final Set<FailureReason> MOMENTARY = Set.of(
            FailureReason.ENTERING,
            FailureReason.PENDING_TRAP,
            FailureReason.PENDING_CONNECTION,
            FailureReason.UNREAD_NETLINK,
            FailureReason.UNREAD_INOTIFY,
            FailureReason.UNREAD_DATAGRAMS,
            FailureReason.CORKED_SOCKET,
            FailureReason.MOUNT_HANDLE,
            FailureReason.NO_SPACE,
            FailureReason.NO_MEMORY);

    private static final int MOST_NAMED = 3;

    public PreflightReport {
        obstacles = List.copyOf(obstacles);
    }

    /** The report for an engine without images: only obstacles to freezing are left. */
    public PreflightReport withoutDump() {
        return new PreflightReport(
                obstacles.stream().filter(l -> OF_FREEZE.contains(l.reason())).toList(), options);
    }

    public boolean ok() {
        return obstacles.isEmpty();
    }

    /** The obstacles that stay as long as their process. A stage with one of them can hardly ever be suspended. */
    public List<Obstacle> lasting() {
        return obstacles.stream().filter(l -> !l.reason().passing()).toList();
    }

    /**
     * What keeps the stage from being dumped, but not from being frozen for a time.
     *
     * @return the worst first; empty when nothing does, when it only needs a moment, or when it must not be frozen either
     */
    public List<Obstacle> ties() {
        return obstacles.stream().anyMatch(l -> NEVER_FROZEN.contains(l.reason()))
                ? List.of()
                : obstacles.stream()
                        .filter(l -> !MOMENTARY.contains(l.reason()))
                        .toList();
    }

    /** The same in words, one element a reason: its sentence, and whose it is of the first processes that have it. */
    public List<String> tieSentences() {
        Map<FailureReason, List<Obstacle>> byReason = new LinkedHashMap<>();
        ties().forEach(tie -> byReason.computeIfAbsent(tie.reason(), reason -> new ArrayList<>())
                .add(tie));
        return byReason.values().stream()
                .map(alike -> {
                    int named = Math.min(MOST_NAMED, alike.size());
                    String names = alike.subList(0, named).stream()
                            .map(Obstacle::shortWords)
                            .collect(Collectors.joining("; "));
                    int others = alike.size() - named;
                    return alike.get(0).reason().sentence() + " (" + names
                            + (others == 0 ? "" : "; and " + others + " more") + ")";
                })
                .toList();
    }
}
