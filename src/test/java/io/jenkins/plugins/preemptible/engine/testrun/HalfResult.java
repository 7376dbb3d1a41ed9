package io.jenkins.plugins.preemptible.engine.testrun;

/**
 * What became of one half, the engine's or the plugin's. Failed tests are no matter of this: the reports tell them.
 *
 * @param words for the summary
 * @param broken whether the half counts as one failure more
 */
record HalfResult(String words, boolean broken) {

    static final HalfResult RAN = new HalfResult("ran", false);
    static final HalfResult NOT_ASKED_FOR = new HalfResult("not asked for", false);

    /** For want of something that this machine cannot have, which is no failure. */
    static HalfResult didNotRun(String why) {
        return new HalfResult("DID NOT RUN: " + why, false);
    }

    /**
     * @param status of {@link MavenCall#within}
     * @param limit as the user reads it, such as {@code 25m}
     */
    static HalfResult ofStatus(int status, String limit) {
        return switch (status) {
            case 0 -> RAN;
            // timeout's own, and those of a JVM that was told to show its threads or was killed
            case 124, 131, 137 ->
                new HalfResult(
                        "FAILED: was not through after " + limit + " and was ended; the threads above say where it was",
                        true);
            default -> new HalfResult("FAILED: the build broke; Maven's lines above say why", true);
        };
    }
}
