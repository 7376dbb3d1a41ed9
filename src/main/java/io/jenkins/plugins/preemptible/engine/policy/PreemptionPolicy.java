package io.jenkins.plugins.preemptible.engine.policy;

import java.util.List;

/** Decides who is suspended, who goes on, and why. */
public final class PreemptionPolicy {

    private PreemptionPolicy() {}

    public static List<Action> decide(Snapshot snapshot) {
        throw new UnsupportedOperationException();
    }
}
