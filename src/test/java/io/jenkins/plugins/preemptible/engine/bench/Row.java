package io.jenkins.plugins.preemptible.engine.bench;

import com.fasterxml.jackson.annotation.JsonInclude;

/**
 * One line of a result: what we took, what it is compared with in the same run, and the goal.
 *
 * @param raw what it is compared with; null when there is nothing
 * @param goal the largest ratio of the two medians that is wanted; null when there is none
 */
@JsonInclude(JsonInclude.Include.NON_NULL)
public record Row(String what, Samples ours, Samples raw, Double goal) {

    /** Our median divided by the other one; NaN when there is none. */
    double ratio() {
        return raw == null ? Double.NaN : ours.median() / raw.median();
    }

    /** For people. */
    String verdict() {
        if (goal == null || raw == null) {
            return "";
        }
        return ratio() <= goal ? "met" : "MISSED";
    }
}
