package io.jenkins.plugins.preemptible.engine.simulation.workload;

/**
 * A line of a history that cannot be read.
 *
 * <ol>
 *   <li>Nothing of the file was taken.
 *   <li>The message is a sentence without its full stop, with the line's number and what is wrong in it.
 *   <li>Control characters of the file are not in it.
 * </ol>
 */
public final class HistoryException extends Exception {

    private static final long serialVersionUID = 1L;

    private final int line;

    HistoryException(int line, String what) {
        super("line " + line + ": " + what.replaceAll("\\p{Cntrl}", "?"));
        this.line = line;
    }

    /** Its number, the first is 1. */
    public int line() {
        return line;
    }
}
