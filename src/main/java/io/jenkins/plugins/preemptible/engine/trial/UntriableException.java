package io.jenkins.plugins.preemptible.engine.trial;

/** Thrown when a trial cannot be made here; the message says why, without the final stop. */
public final class UntriableException extends Exception {

    private static final long serialVersionUID = 1L;

    UntriableException(String why) {
        super(why);
    }
}
