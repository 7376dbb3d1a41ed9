package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.InsideReader;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * Finds what a frozen tree has not read and CRIU drops silently: inotify events and UDP datagrams.
 *
 * <ol>
 *   <li>The preflight finds them while the stage runs. They change every moment, so the frozen tree is checked again.
 *   <li>A socket's queue is in the kernel's table; an inotify descriptor is asked itself (FIONREAD).
 * </ol>
 *
 * What this process may not read is taken for empty. Source: CRIU 4.2.1, {@code criu/fsnotify.c} and
 * {@code criu/sk-inet.c}: neither saves what is queued.
 */
public final class UnreadQueues {

    private UnreadQueues() {}

    /**
     * The first that is found.
     *
     * @param init the stage's first process
     */
    public static Optional<Obstacle> find(long init, List<Proc.Stat> tree) {
        ProcView proc = new ProcView(InsideReader.NONE);
        Set<Long> datagrams = SocketReader.datagrams(init, proc).keySet();
        for (Proc.Stat process : tree) {
            Path folder = ProcFiles.of(process.pid()).resolve("fd");
            for (long number : proc.numbers(folder)) {
                String link = proc.link(folder.resolve(Long.toString(number))).orElse("");
                FailureReason reason = null;
                if (link.equals("anon_inode:inotify") && proc.unread(process.pid(), number) > 0) {
                    reason = FailureReason.UNREAD_INOTIFY;
                } else if (link.startsWith("socket:") && datagrams.contains(SocketObstacles.inode(link))) {
                    reason = FailureReason.UNREAD_DATAGRAMS;
                }
                if (reason != null) {
                    return Optional.of(
                            new Obstacle(reason, process.pid(), process.comm(), "descriptor " + number + ": " + link));
                }
            }
        }
        return Optional.empty();
    }
}
