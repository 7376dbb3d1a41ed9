package io.jenkins.plugins.preemptible.engine.api;

/** The verdict of a trial on an image. */
public enum TrialVerdict {
    /** CRIU restored all of it, up to the point from which the stage would run. */
    PASSED("The image was tried and can be restored"),
    /** CRIU cannot restore it, neither without its pages nor with them. */
    FAILED("The image was tried and cannot be restored"),
    /** It took too long and was ended: the image may be good, but the frozen tree must not be killed for it. */
    OUT_OF_TIME("The trial of the image was not through in time"),
    /** Nothing is known: the suspension continues as if there were no trials. */
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
