package io.jenkins.plugins.preemptible.acceptance.faults;

/** What the round waits for before its fault, as the controller's record of the stage says it. */
enum Moment {
    /** The stage runs, and nobody wants its executor yet. */
    RUNNING,
    SUSPENDING,
    /** Suspended, its image not sealed yet. */
    FROZEN,
    /** Suspended, its image sealed; the preemptor runs. */
    SEALED,
    RESUMING,
    /** It runs again. */
    RESUMED,
    /** Its body is over, and what is left of it is being removed. */
    ENDED;

    boolean passesSoon() {
        return this == SUSPENDING || this == RESUMING || this == ENDED;
    }
}
