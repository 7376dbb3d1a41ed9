package io.jenkins.plugins.preemptible.history;

import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRef;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.event.StageSealed;
import java.util.function.UnaryOperator;

/** Brings what happens to a stage into the {@link PastStage} of it. */
interface PastStageListener extends StageListener {

    /** @return whether a stage of that id is kept */
    boolean update(StageRef stage, UnaryOperator<PastStage> change);

    @Override
    default void onSealed(StageSealed event) {
        update(event.stage(), stage -> stage.withNewest(suspension -> suspension.with(event)));
    }

    @Override
    default void onResumed(StageResumed event) {
        update(event.stage(), stage -> stage.withNewest(suspension -> suspension.with(event)));
    }

    @Override
    default void onEnded(StageEnded event) {
        update(event.stage(), stage -> stage.with(event));
    }
}
