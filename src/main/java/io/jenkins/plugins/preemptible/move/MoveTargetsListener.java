package io.jenkins.plugins.preemptible.move;

import hudson.ExtensionList;
import hudson.ExtensionPoint;
import hudson.model.Queue;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Is told that more, or fewer, agents may be known to fit a suspended stage than before.
 *
 * <p>Called on any thread; returns at once.
 */
public interface MoveTargetsListener extends ExtensionPoint {

    void onMoveTargetsChanged();

    /** Tells all of them, and Jenkins' queue: an item that waits for any agent that fits may have one now. */
    static void fire() {
        Queue.getInstance().scheduleMaintenance();
        for (MoveTargetsListener listener : ExtensionList.lookup(MoveTargetsListener.class)) {
            try {
                listener.onMoveTargetsChanged();
            } catch (RuntimeException | LinkageError x) {
                Logger.getLogger(MoveTargetsListener.class.getName())
                        .log(Level.WARNING, x, () -> listener.getClass().getName() + " failed when an agent was tried");
            }
        }
    }
}
