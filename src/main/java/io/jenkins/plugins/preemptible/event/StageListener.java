package io.jenkins.plugins.preemptible.event;

import hudson.ExtensionList;
import hudson.ExtensionPoint;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Is told what happens to preemptible stages.
 *
 * <ol>
 *   <li>Each method is called after the event took effect; nothing can be prevented here.
 *   <li>The events of one stage come in their order, on any thread that may do I/O. The stage can neither be suspended nor
 *       resumed before the method returns: a listener that needs long hands the work to a thread of its own.
 *   <li>What a listener throws is logged, and changes nothing.
 *   <li>A crash of the controller can swallow the event that it interrupts.
 * </ol>
 */
public interface StageListener extends ExtensionPoint {

    default void onSuspended(StageSuspended event) {}

    default void onSealed(StageSealed event) {}

    default void onResumed(StageResumed event) {}

    default void onRefused(StageRefused event) {}

    default void onEnded(StageEnded event) {}

    default void onPreemptorStarted(PreemptorStarted event) {}

    /** Tells all of them. */
    static void fire(Consumer<StageListener> call) {
        for (StageListener listener : ExtensionList.lookup(StageListener.class)) {
            try {
                call.accept(listener);
            } catch (RuntimeException | LinkageError x) {
                Logger.getLogger(StageListener.class.getName())
                        .log(Level.WARNING, x, () -> listener.getClass().getName() + " failed at a stage's event");
            }
        }
    }
}
