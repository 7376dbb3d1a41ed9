package io.jenkins.plugins.preemptible.lifecycle.stage;

import io.jenkins.plugins.preemptible.agent.AgentStage;

/** Where the sealed image of a stage is among its build's artifacts. */
public final class ImagePath {

    /** The folder below the artifacts; each stage has one of its own in it. */
    public static final String FOLDER = "preemptible";

    /** Beside the build's own products it tells what it is. */
    public static final String FILE = "suspended-stage.preempt";

    /** Beside it: the stage's workspace. */
    public static final String LUGGAGE = "suspended-stage.workspace";

    private ImagePath() {}

    /** Below the build's artifacts, whether the stage has an image or not. */
    public static String of(StageRecord stage) {
        return of(stage.id, stage.imageFile == null ? AgentStage.IMAGE_FILE : stage.imageFile);
    }

    public static String of(String stageId, String file) {
        return FOLDER + "/" + stageId + "/" + file;
    }
}
