package io.jenkins.plugins.preemptible.engine.policy;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import java.util.Set;

/**
 * A suspended stage of which a test says only what matters to it. Unless it says otherwise the stage is nobody's, was suspended
 * for nobody in particular, may stay so, and is resumed on its own agents only.
 */
final class SuspendedStageFixture {

    private final String id;
    private final int priority;
    private final long sinceMillis;
    private final Set<String> agents;
    private String preemptorItem;
    private boolean requested;
    private String reservedAgent;
    private boolean byHand;
    private long thawByMillis;
    private Set<String> elsewhere = Set.of();
    private long moveMillis;
    private Reason nowhere;

    private SuspendedStageFixture(String id, int priority, long sinceMillis, Set<String> agents) {
        this.id = id;
        this.priority = priority;
        this.sinceMillis = sinceMillis;
        this.agents = agents;
    }

    static SuspendedStageFixture of(String id, int priority, long sinceMillis, String... agents) {
        return new SuspendedStageFixture(id, priority, sinceMillis, Set.of(agents));
    }

    /** It is in the queue already, to be resumed. */
    SuspendedStageFixture requestedAfter(String preemptor) {
        preemptorItem = preemptor;
        requested = true;
        return this;
    }

    SuspendedStageFixture reservedOn(String agent) {
        reservedAgent = agent;
        return this;
    }

    SuspendedStageFixture byHand(boolean manually) {
        byHand = manually;
        return this;
    }

    SuspendedStageFixture thawBy(long millis) {
        thawByMillis = millis;
        return this;
    }

    SuspendedStageFixture mayMoveTo(String... others) {
        elsewhere = Set.of(others);
        return this;
    }

    SuspendedStageFixture movingTakes(long millis) {
        moveMillis = millis;
        return this;
    }

    /** Why no agent is found for it, where none is. */
    SuspendedStageFixture nowhere(Reason why) {
        nowhere = why;
        return this;
    }

    SuspendedStage build() {
        return new SuspendedStage(
                id,
                agents,
                priority,
                "",
                sinceMillis,
                preemptorItem,
                requested,
                reservedAgent,
                byHand,
                thawByMillis,
                elsewhere,
                moveMillis,
                nowhere);
    }
}
