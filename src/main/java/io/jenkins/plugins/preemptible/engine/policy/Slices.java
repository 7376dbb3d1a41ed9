package io.jenkins.plugins.preemptible.engine.policy;

import java.util.List;
import java.util.Set;

/**
 * How long a stage runs before it gives way to its equals.
 *
 * <ol>
 *   <li>The first rule whose label and priorities fit says the slice; where none fits, the default does.
 *   <li>A stage that asks for a shorter one gets it; one that asks for a longer one does not.
 *   <li>0 is no slice: such a stage never gives way to its equals.
 * </ol>
 *
 * @param defaultMillis milliseconds, 0 = none
 * @param rules in the order in which they are tried
 * @throws IllegalArgumentException when a number is negative
 */
public record Slices(long defaultMillis, List<Rule> rules) {

    public static final Slices NONE = new Slices(0, List.of());

    public Slices {
        Snapshot.notNegative("time slice", defaultMillis);
        rules = List.copyOf(rules);
    }

    /**
     * A slice for some agents and priorities.
     *
     * @param label that the agent has to carry; null = any agent
     * @param from the highest priority (the lowest number) that it is for
     * @param to the lowest one
     * @param millis the slice, 0 = none
     * @throws IllegalArgumentException when the slice is negative or the priorities are the wrong way round
     */
    public record Rule(String label, int from, int to, long millis) {
        public Rule {
            Snapshot.notNegative("time slice", millis);
            if (from > to) {
                throw new IllegalArgumentException(
                        "The priorities of a time slice are the wrong way round: from " + from + " to " + to);
            }
        }

        boolean fits(Set<String> labels, int priority) {
            return from <= priority && priority <= to && (label == null || labels.contains(label));
        }
    }

    /**
     * The slice of a stage.
     *
     * @param labels of its agent
     * @param ownMillis what the stage asks for; 0 = nothing
     * @return milliseconds, 0 = it never gives way to its equals
     */
    public long of(Set<String> labels, int priority, long ownMillis) {
        long allowed = rules.stream()
                .filter(rule -> rule.fits(labels, priority))
                .findFirst()
                .map(Rule::millis)
                .orElse(defaultMillis);
        return allowed == 0 || (ownMillis > 0 && ownMillis < allowed) ? ownMillis : allowed;
    }
}
