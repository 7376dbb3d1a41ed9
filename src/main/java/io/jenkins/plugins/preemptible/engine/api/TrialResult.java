package io.jenkins.plugins.preemptible.engine.api;

import java.util.List;

/**
 * The result of one trial.
 *
 * @param withPages whether the whole image was needed, since the trial without pages had failed
 * @param millis from its begin to the last process gone, at least 0
 * @param why a failure or a trial that was not made, for people, without the final stop; null when it passed
 * @param criuLines CRIU's decisive lines; empty where it passed or was not tried
 */
public record TrialResult(TrialVerdict verdict, boolean withPages, long millis, String why, List<String> criuLines) {

    public TrialResult {
        criuLines = List.copyOf(criuLines);
    }

    /** Whether the frozen tree has to stay: the image cannot be restored, or may hang CRIU. */
    public boolean refuses() {
        return verdict == TrialVerdict.FAILED || verdict == TrialVerdict.OUT_OF_TIME;
    }

    public static TrialResult passed() {
        return new TrialResult(TrialVerdict.PASSED, false, 0, null, List.of());
    }

    public static TrialResult failed(String why, List<String> criuLines) {
        return new TrialResult(TrialVerdict.FAILED, false, 0, why, criuLines);
    }

    public static TrialResult outOfTime(String why, List<String> criuLines) {
        return new TrialResult(TrialVerdict.OUT_OF_TIME, false, 0, why, criuLines);
    }

    public static TrialResult notTried(String why) {
        return new TrialResult(TrialVerdict.NOT_TRIED, false, 0, why, List.of());
    }

    public TrialResult after(long nextMillis) {
        return new TrialResult(verdict, withPages, nextMillis, why, criuLines);
    }

    public TrialResult ofTheWholeImage() {
        return new TrialResult(verdict, true, millis, why, criuLines);
    }
}
