package io.jenkins.plugins.preemptible.agent;

/**
 * What an agent tells in numbers, brought into the ranges that a host can have.
 *
 * <ol>
 *   <li>Every record that an agent sends calls these in its constructor, so they hold for whatever arrives.
 *   <li>A number outside of its range becomes the nearest one inside: it only misleads about that agent itself.
 *   <li>Texts pass {@link io.jenkins.plugins.preemptible.engine.text.PlainText} at the same place.
 * </ol>
 */
final class Answers {

    /** A petabyte: sums and rates of such numbers do not overflow. */
    private static final long MOST_BYTES = 1L << 50;
    /** A year. */
    private static final long MOST_MILLIS = 365L * 24 * 60 * 60 * 1000;
    /** The kernel's own limit, PID_MAX_LIMIT. */
    private static final int MOST_PROCESSES = 4_194_304;

    private Answers() {}

    /** 0 to 2^50. */
    static long bytes(long told) {
        return Math.max(0, Math.min(told, MOST_BYTES));
    }

    /** The same, or -1 = unknown. */
    static long bytesOrUnknown(long told) {
        return told < 0 ? -1 : bytes(told);
    }

    /** 0 to a year. */
    static long millis(long told) {
        return Math.max(0, Math.min(told, MOST_MILLIS));
    }

    /** 0 to 2^22. */
    static int processes(int told) {
        return Math.max(0, Math.min(told, MOST_PROCESSES));
    }
}
