package io.jenkins.plugins.preemptible.engine.api;

import java.nio.file.Path;
import java.time.Instant;
import java.util.Optional;

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
 * @param tier what a resume on this host would use; null when the stage is not suspended or nothing is left of it
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

    /** The exit code of a command that SIGKILL ended. */
    public static final int KILLED_EXIT_CODE = 128 + 9;

    /** Whether the stage is over; it is never suspended or resumed again. */
    public boolean over() {
        return state == State.ENDED || state == State.FAILED || state == State.KILLED;
    }

    /** The exit code of a stage that is over; that of a kill when its command left none. */
    public int finalExitCode() {
        return exitCode == null ? KILLED_EXIT_CODE : exitCode;
    }

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
        /** Its init ended without leaving an exit code. */
        FAILED,
        /** It was killed by the engine. */
        KILLED;

        /** Why a stage in this state cannot be suspended; empty when it can, or when its suspension is under way. */
        public Optional<FailureReason> refusalToSuspend() {
            return switch (this) {
                case RUNNING, SUSPENDING -> Optional.empty();
                case RESUMING -> Optional.of(FailureReason.STAGE_BUSY);
                case SUSPENDED -> Optional.of(FailureReason.STAGE_SUSPENDED);
                case KILLED -> Optional.of(FailureReason.KILLED);
                case ENDED, FAILED -> Optional.of(FailureReason.STAGE_ENDED);
            };
        }

        /** Why no command can enter a stage in this state; empty when it can. */
        public Optional<FailureReason> refusalToEnter() {
            return this == SUSPENDING ? Optional.of(FailureReason.STAGE_BUSY) : refusalToSuspend();
        }

        /** Why a stage in this state cannot be resumed; empty when it can, frozen or not. */
        public Optional<FailureReason> refusalToResume() {
            return switch (this) {
                case SUSPENDING, SUSPENDED -> Optional.empty();
                case RUNNING -> Optional.of(FailureReason.STAGE_RUNS);
                case RESUMING -> Optional.of(FailureReason.STAGE_BUSY);
                case KILLED -> Optional.of(FailureReason.KILLED);
                case ENDED, FAILED -> Optional.of(FailureReason.STAGE_ENDED);
            };
        }
    }
}
