package io.jenkins.plugins.preemptible.engine.trial;

/** What a trial has shown of an image. */
public enum TrialVerdict {
    /** CRIU restored all of it, up to the point from which the stage would run. */
    PASSED("The image was tried and can be restored"),
    /** CRIU cannot restore it, neither without its pages nor with them. */
    FAILED("The image was tried and cannot be restored"),
    /** Nothing is known: the suspension goes on as if there were no trials. */
    NOT_TRIED("The image was not tried");

    private final String sentence;

    TrialVerdict(String sentence) {
        this.sentence = sentence;
    }

    /** For people, without the final stop. */
    public String sentence() {
        return sentence;
    }
}
