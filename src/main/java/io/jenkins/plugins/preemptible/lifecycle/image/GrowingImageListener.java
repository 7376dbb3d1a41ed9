package io.jenkins.plugins.preemptible.lifecycle.image;

import hudson.ExtensionList;
import hudson.ExtensionPoint;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Is told when the beginning of an image has come to the controller, or is about to, before all of it is stored; for a stage that
 * is going to leave its agent.
 *
 * <p>Called once for each image that is made, on the thread that brings it: returns at once. The image may come to nothing.
 */
public interface GrowingImageListener extends ExtensionPoint {

    /** @param stageId of a stage that is frozen */
    void onBeginning(String stageId);

    /** Tells all of them. */
    static void fire(String stageId) {
        for (GrowingImageListener listener : ExtensionList.lookup(GrowingImageListener.class)) {
            try {
                listener.onBeginning(stageId);
            } catch (RuntimeException | LinkageError x) {
                Logger.getLogger(GrowingImageListener.class.getName())
                        .log(Level.WARNING, x, () -> listener.getClass().getName() + " failed for stage " + stageId);
            }
        }
    }
}
