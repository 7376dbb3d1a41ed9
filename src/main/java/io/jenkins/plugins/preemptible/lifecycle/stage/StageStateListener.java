package io.jenkins.plugins.preemptible.lifecycle.stage;

import hudson.ExtensionList;
import hudson.ExtensionPoint;

/**
 * Is told that a stage's state changed, or that a stage ended.
 *
 * <p>Called under the monitor of {@link StageRegistry}: it must return at once and take no lock of Jenkins. For what happens after
 * an effect, see {@link io.jenkins.plugins.preemptible.event.StageListener}.
 */
public interface StageStateListener extends ExtensionPoint {

    /** @param node the name of the stage's agent, empty for the built-in node */
    void stateChanged(String node);

    /** Tells all of them. */
    static void tell(String node) {
        ExtensionList.lookup(StageStateListener.class).forEach(listener -> listener.stateChanged(node));
    }
}
