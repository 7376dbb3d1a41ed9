package io.jenkins.plugins.preemptible.engine.simulation.workload;

import java.util.Objects;
import java.util.Set;

/**
 * An agent of the simulated controller.
 *
 * <ol>
 *   <li>It is online from the first job to the last, and is never drained.
 *   <li>A job runs on it that asks for one of its labels, for its name, or for nothing.
 *   <li>Its memory bounds how many stages may stay frozen in it.
 * </ol>
 *
 * @param name not blank
 * @param labels that it carries
 * @param executors 1 to {@value #MOST_EXECUTORS}
 * @param memoryBytes 0 = unknown: then it always has room for a frozen stage, and none is kept frozen on purpose
 * @throws IllegalArgumentException when a value is out of its range
 */
public record SimAgent(String name, Set<String> labels, int executors, long memoryBytes) {

    /** More than that on one machine is a slip of the keyboard. */
    public static final int MOST_EXECUTORS = 10_000;

    public SimAgent {
        Objects.requireNonNull(name);
        labels = Set.copyOf(labels);
        if (name.isBlank()) {
            throw new IllegalArgumentException("An agent needs a name");
        }
        if (executors < 1 || executors > MOST_EXECUTORS) {
            throw new IllegalArgumentException(
                    "The agent " + name + " has " + executors + " executors, but must have 1 to " + MOST_EXECUTORS);
        }
        if (memoryBytes < 0) {
            throw new IllegalArgumentException("The memory of the agent " + name + " is negative");
        }
    }

    public boolean takes(String label) {
        return label.isEmpty() || label.equals(name) || labels.contains(label);
    }
}
