package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Executor;
import hudson.model.Node;
import hudson.model.Queue;
import java.io.IOException;

/**
 * How one stage holds its executor, gives it away, and asks for it again.
 *
 * <ol>
 *   <li>{@link #release} is called with the stage's state already saved as suspended, off every lock but the stage's.
 *   <li>{@link #request} makes the queue dispatch the stage again; the executor's arrival starts the restore.
 *   <li>{@link #withdraw} takes such a request back.
 * </ol>
 *
 * Implementations may be called from any thread, as SYSTEM.
 */
public interface ExecutorHold {

    /** The executor that the stage holds now, or null. */
    @CheckForNull
    Executor executor(StageRecord stage);

    /**
     * Gives the executor away. Afterwards the block has none until {@link #request} was served.
     *
     * @throws IOException when Jenkins would not let go; the stage still has its executor then
     */
    void release(StageRecord stage) throws IOException;

    /** Gives back what is still held of an executor by a stage whose build has ended without it; harmless otherwise. */
    void abandon();

    /** Asks the queue for an executor on the stage's agent; harmless when asked before. */
    void request(StageRecord stage) throws IOException;

    /** Whether the stage may resume on another agent, as far as its step and its label say. */
    default boolean mayMoveTo(Node agent) {
        return false;
    }

    /**
     * What would wait in the queue for an executor of that agent, by which the agent and other plugins can be asked beforehand;
     * null where a stage never goes to another agent.
     */
    @CheckForNull
    default Queue.BuildableItem asItem(StageRecord stage, Node agent) {
        return null;
    }

    /** As {@link #request(StageRecord)}, on the agent of that name. */
    default void request(StageRecord stage, String agent) throws IOException {
        request(stage);
    }

    /**
     * Asks the queue for an executor on any agent on which the stage can be resumed, so that a cloud starts one, too. In the
     * place of a request for one agent.
     */
    default void requestAnywhere(StageRecord stage) throws IOException {
        request(stage);
    }

    /** Whether the last request was such a one. */
    default boolean requestedAnywhere() {
        return false;
    }

    /** Name of the agent whose executor was asked for last. */
    default String requestedOn(StageRecord stage) {
        return stage.node();
    }

    /** Takes a request back that was not served yet; harmless when there is none. */
    void withdraw(StageRecord stage);

    /**
     * Restores the stage on an executor that it turns out to have while it is suspended; harmless when it is not.
     * Returns at once.
     */
    void takeUp(Executor executor);

    /** Whether the stage could be ended and run again from its beginning. */
    boolean canRunAgain();

    /**
     * Ends the running body and runs it again from its beginning, on whatever executor is free for it then. Returns at
     * once; where the body's own Pipeline code catches the interruption, the stage continues as that code says.
     *
     * @param why for the build log
     */
    void runAgain(String why);

    /** Whether a request waits in the queue. */
    boolean requested(StageRecord stage);
}
