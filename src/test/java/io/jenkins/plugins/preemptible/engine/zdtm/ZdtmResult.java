package io.jenkins.plugins.preemptible.engine.zdtm;

/**
 * What became of one test, run in one way.
 *
 * @param test with its folder, such as {@code static/zombie00}
 * @param way how it was run
 * @param verdict what became of it
 * @param reason why, in one line; empty for a pass at the first try
 * @param millis from its start to its verdict
 */
record ZdtmResult(String test, Way way, Verdict verdict, String reason, long millis) {

    /** How a test is run. */
    enum Way {
        /** As a stage, suspended once, resumed from CRIU's files. */
        LOCAL("local image"),
        /** The same, resumed from the sealed archive. */
        ARCHIVE("archive"),
        /** Suspended and resumed twice in a row. */
        TWICE("twice"),
        /** As a stage that is not suspended. */
        UNDISTURBED("not suspended"),
        /** By the suite's own runner, without the engine. */
        PLAIN("plain criu");

        final String title;

        Way(String title) {
            this.title = title;
        }
    }

    /** What became of it. */
    enum Verdict {
        /** It says PASS after its resume. */
        PASS("PASS"),
        /** The suspension was refused before anything was stopped; it ran on and says PASS. */
        REFUSED("REFUSED"),
        /** It was frozen, then CRIU or the trial of its image refused; it ran on and says PASS. */
        REFUSED_LATE("REFUSED when frozen"),
        /** It runs, and does not say PASS. */
        FAIL("FAIL"),
        /** It was suspended and cannot be resumed. */
        ERROR("ERROR"),
        /** It says itself that it does not work here, before anything is suspended. */
        NOT_STARTED("does not start"),
        /** Its own check says that this host lacks what it needs, or the way could not be tried. */
        SKIPPED("not for this host");

        final String title;

        Verdict(String title) {
            this.title = title;
        }
    }

    /** Whether a machine that others use, too, may have caused it. */
    boolean worthAnotherTry() {
        return switch (verdict) {
            case FAIL, ERROR, NOT_STARTED, REFUSED_LATE -> true;
            case PASS, REFUSED, SKIPPED -> false;
        };
    }

    /** What counts when this is the second try: its verdict, and what became of the first one. */
    ZdtmResult after(ZdtmResult first) {
        String why = first.verdict() == verdict
                ? reason
                : reason + " (at first " + first.verdict().title + ": " + first.reason() + ")";
        return new ZdtmResult(test, way, verdict, why, millis);
    }

    ZdtmResult {
        reason = reason == null ? "" : reason.strip().replaceAll("\\s+", " ");
        reason = reason.length() > 300 ? reason.substring(0, 300) + "…" : reason;
    }
}
