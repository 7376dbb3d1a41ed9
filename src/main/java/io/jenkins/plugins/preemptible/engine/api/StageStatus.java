package io.jenkins.plugins.preemptible.engine.api;

import java.nio.file.Path;
import java.time.Instant;

/**
 * What is known of a stage at one moment.
 *
 * <ol>
 *   <li>{@code state} is checked against the host: a stage whose init is gone never shows as running.
 *   <li>{@code initPid} is the init's process id on the host, 0 when no process exists.
 *   <li>{@code exitCode} (128 + n for signal n) is null until the command ended; {@code archive} is null unless the
 *       stage is suspended.
 * </ol>
 *
 * @param tier from what a resume here would be served; null when the stage is not suspended or nothing is left of it
 */
public record StageStatus(
        StageId id,
        String name,
        State state,
        long initPid,
        Integer exitCode,
        Path workDir,
        Instant startedAt,
        Path archive,
        int suspensions,
        Path output,
        Tier tier) {

    /** The states of a stage on its host. */
    public enum State {
        /** Its init lives and may run. */
        RUNNING,
        /** It is being frozen and dumped, or waits frozen for commit or thaw. */
        SUSPENDING,
        /** No process exists; its image does. */
        SUSPENDED,
        /** It is being restored. */
        RESUMING,
        /** Its last process ended. */
        ENDED,
        /** Its init vanished without having told an exit code. */
        FAILED,
        /** It was killed by the engine. */
        KILLED
    }
}
