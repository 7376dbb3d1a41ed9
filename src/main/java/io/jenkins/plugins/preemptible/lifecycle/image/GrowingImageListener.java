package io.jenkins.plugins.preemptible.lifecycle.image;

import hudson.ExtensionPoint;
import jenkins.util.Listeners;

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
        Listeners.notify(GrowingImageListener.class, false, listener -> listener.onBeginning(stageId));
    }
}
