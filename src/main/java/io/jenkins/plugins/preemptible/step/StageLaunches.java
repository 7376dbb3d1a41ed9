package io.jenkins.plugins.preemptible.step;

import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;

/**
 * The control folders of a stage's durable tasks, as its record keeps them.
 *
 * <ol>
 *   <li>Every launch adds one; a folder is removed by Durable Task itself when its step has ended.
 *   <li>Only the newest {@value #MOST} are kept: a stage with more steps in flight at once than that is unheard of.
 *   <li>They are persisted, because a controller that restarts while the stage is suspended needs them.
 * </ol>
 */
final class StageLaunches {

    static final int MOST = 200;

    private StageLaunches() {}

    static void note(String stageId, String controlFolder) {
        StageRegistry.get().update(stageId, stage -> stage.launched(controlFolder, MOST));
    }
}
