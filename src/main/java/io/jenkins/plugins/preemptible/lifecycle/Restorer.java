package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Executor;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;

/**
 * How a suspended stage comes to run on an executor of another agent.
 *
 * <ol>
 *   <li>{@link #restore} is called with the state RESUMING saved, {@link #ran} with RUNNING saved.
 *   <li>Both are called under the stage's operation lock, on the thread of {@link Resumption}.
 * </ol>
 */
public interface Restorer {

    /**
     * Restores it.
     *
     * @return the agent's answer; a refusal only of the stage's own agent
     * @throws NotMovedException when the stage stays as it was and may be tried on another agent at once
     * @throws PostponedException when that agent, and no other one, may have the stage later
     * @throws IOException when an agent or the archive does not do its part; the stage may run
     */
    AgentStage.Restore restore(LiveStage live, StageRecord stage, Executor executor)
            throws IOException, InterruptedException;

    /**
     * The stage runs, and its record says so.
     *
     * @param before its record while it was suspended
     */
    void ran(LiveStage live, StageRecord before, Executor executor) throws InterruptedException;

    /** The token of that executor's host, by which hosts are told apart; empty when it is not known. */
    String hostToken(Executor executor);

    /** Which way a stage is resumed on an executor. */
    @FunctionalInterface
    interface Choice {
        /** @return null for the ordinary way, on its own agent */
        @CheckForNull
        Restorer of(StageRecord stage) throws InterruptedException;
    }

    /** It cannot be resumed on this agent yet, and may run there. */
    final class PostponedException extends IOException {
        private static final long serialVersionUID = 1L;

        /** @param why a sentence */
        public PostponedException(String why) {
            super(why);
        }
    }

    /** It is not resumed on this agent; nothing of it is lost, and nothing of it runs there. */
    final class NotMovedException extends IOException {
        private static final long serialVersionUID = 1L;

        @CheckForNull
        private final String reason;

        /**
         * @param reason by which it is counted, of {@code MoveObstacle} or {@code FailureReason}; empty for another one, null when
         *     users did not want it any more
         * @param why a sentence
         */
        public NotMovedException(@CheckForNull String reason, String why, @CheckForNull Throwable cause) {
            super(why, cause);
            this.reason = reason;
        }

        @CheckForNull
        public String reason() {
            return reason;
        }

        /** Whether that agent stood against it, and not a connection or the archive. */
        public boolean isRefusal() {
            return reason != null && !reason.isEmpty();
        }
    }
}
