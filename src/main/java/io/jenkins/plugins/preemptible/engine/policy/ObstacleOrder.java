package io.jenkins.plugins.preemptible.engine.policy;

import java.util.List;

/** Which of several obstacles a claim is told: first those that time removes. */
final class ObstacleOrder {

    private static final List<Reason> MOST_HOPEFUL_FIRST = List.of(
            Reason.VICTIM_TAKEN,
            Reason.EXEMPT_TIME,
            Reason.OTHER_STEP_RUNS,
            Reason.SUSPEND_FAILED_LATELY,
            Reason.TIME_SLICE_NOT_USED_UP,
            Reason.FROZEN_LATELY,
            Reason.FROZEN_SHARE_REACHED,
            Reason.TOO_MANY_SUSPENDED,
            Reason.MEMORY_SHORT,
            Reason.NO_ROOM_FOR_IMAGE,
            Reason.UNDISTURBED_HOURS,
            Reason.QUIETING_DOWN,
            Reason.MOST_SUSPENSIONS_REACHED,
            Reason.IMAGE_TOO_LARGE,
            Reason.FROZEN_TIME_TOO_SHORT,
            Reason.NOT_CHECKPOINTABLE,
            Reason.NEVER_PREEMPT,
            Reason.NO_LOWER_PRIORITY,
            Reason.NO_FITTING_STAGE);

    private ObstacleOrder() {}

    /** The one that is more likely to pass; a constant without a place in the order says more than no stage at all. */
    static Reason moreHopeful(Reason one, Reason other) {
        return place(other) < place(one) ? other : one;
    }

    private static int place(Reason reason) {
        int place = MOST_HOPEFUL_FIRST.indexOf(reason);
        return place >= 0 ? place : MOST_HOPEFUL_FIRST.indexOf(Reason.NO_FITTING_STAGE) - 1;
    }
}
