package io.jenkins.plugins.preemptible.engine.bench;

/**
 * One question about speed or size, answered by running both sides in one go.
 *
 * <ol>
 *   <li>Every benchmark alternates between ours and what it is compared with, so that a slow minute hits both.
 *   <li>The figures are medians; the spread is told as least and most.
 *   <li>Nothing here fails for being slow: a goal that is missed is printed as missed.
 * </ol>
 */
interface Benchmark {

    /** For {@code --only}: lower case, one word. */
    String name();

    /** Whether any of its rows has a goal. */
    default boolean hasGoals() {
        return true;
    }

    Result run(BenchRig rig) throws Exception;
}
