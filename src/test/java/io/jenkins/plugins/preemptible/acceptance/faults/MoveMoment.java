package io.jenkins.plugins.preemptible.acceptance.faults;

/** What a round with moves waits for before its fault, as the controller's record of the stage says it. */
enum MoveMoment {
    /** The stage runs where it began. */
    RUNNING,
    /** The same, and a checkpoint of it was sealed. */
    CHECKPOINTED,
    SUSPENDING,
    /** The same, with a checkpoint. */
    SUSPENDING_CHECKPOINTED,
    /** Suspended, its image not sealed yet. */
    FROZEN,
    /** The same, with a checkpoint. */
    FROZEN_CHECKPOINTED,
    /** Suspended, image and workspace sealed. */
    SEALED,
    /** Another agent has been given the stage and restores it. */
    RESUMING,
    /** It runs on another agent. */
    MOVED;

    boolean passesSoon() {
        return switch (this) {
            case SUSPENDING, SUSPENDING_CHECKPOINTED, FROZEN, FROZEN_CHECKPOINTED, RESUMING -> true;
            case RUNNING, CHECKPOINTED, SEALED, MOVED -> false;
        };
    }

    /** Whether the stage has to have a checkpoint then. */
    boolean needsCheckpoint() {
        return this == CHECKPOINTED || this == SUSPENDING_CHECKPOINTED || this == FROZEN_CHECKPOINTED;
    }

    /** Whether the stage is suspended in the round. */
    boolean needsSuspension() {
        return this != RUNNING && this != CHECKPOINTED;
    }

    /** Whether the stage is to go to a certain other agent. */
    boolean needsMove() {
        return this == RESUMING || this == MOVED;
    }

    boolean isReached(RecordedStage stage) {
        return switch (this) {
            case RUNNING -> stage.state().equals("RUNNING");
            case CHECKPOINTED -> stage.state().equals("RUNNING") && stage.checkpointed();
            case SUSPENDING, SUSPENDING_CHECKPOINTED -> stage.state().equals("SUSPENDING");
            case FROZEN, FROZEN_CHECKPOINTED -> stage.state().equals("SUSPENDED") && stage.frozen();
            case SEALED -> stage.state().equals("SUSPENDED") && !stage.frozen() && stage.withWorkspace();
            case RESUMING -> stage.state().equals("RESUMING");
            case MOVED -> stage.state().equals("RUNNING") && stage.moves() > 0;
        };
    }

    /** Whether it will not come any more, for this suspension. */
    boolean isOver(RecordedStage stage) {
        boolean runsAgain = stage.state().equals("RUNNING") && stage.suspensions() > 0;
        return switch (this) {
            case RUNNING, CHECKPOINTED -> false;
            case SUSPENDING, SUSPENDING_CHECKPOINTED -> stage.suspended() || runsAgain;
            case FROZEN, FROZEN_CHECKPOINTED -> stage.suspended() && !stage.frozen() || runsAgain;
            case SEALED -> stage.state().equals("RESUMING") || runsAgain;
            case RESUMING, MOVED -> runsAgain;
        };
    }
}
