package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.text.PlainText;

/**
 * One thing that ties a stage to the outside, so that it cannot be dumped.
 *
 * <ol>
 *   <li>{@code reason} says why it stops a dump, and what would help.
 *   <li>{@code pid} and {@code command} say whose it is.
 *   <li>{@code what} names it: a file, a socket with its peer, a mapping, a tracer.
 * </ol>
 *
 * @param pid of the process as the host sees it; 0 when it is not one process's
 * @param command the kernel's short name of the process: its arguments may hold secrets, and this travels
 */
public record Obstacle(FailureReason reason, long pid, String command, String what) {

    private static final int LONGEST_WHAT = 200;
    private static final int SHORT_WHAT = 80;

    public Obstacle {
        command = PlainText.of(command);
        what = PlainText.of(what);
    }

    /** The process and the thing, to follow the reason's sentence. */
    public String words() {
        return pid == 0 ? what : "process " + pid + " " + command + ", " + what;
    }

    /** The reason with whose it is and what it is, without a final stop. */
    public String sentence() {
        // Short enough for all of it to arrive.
        return reason.sentence() + " (" + words(LONGEST_WHAT) + ")";
    }

    /** Whose it is and what it is, where several stand in one line. */
    String shortWords() {
        return words(SHORT_WHAT);
    }

    private String words(int longest) {
        return PlainText.of(what, longest) + (pid == 0 ? "" : ", process " + pid + ": " + command);
    }
}
