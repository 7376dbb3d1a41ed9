package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import java.util.List;

/**
 * CRIU refused or failed.
 *
 * <ol>
 *   <li>{@link #reason} is what its log means.
 *   <li>{@link #lines} are the decisive lines of that log.
 *   <li>The engine turns it into the failure of a suspension or of a resume after it cleaned up.
 * </ol>
 */
public final class CriuException extends Exception {

    private static final long serialVersionUID = 1L;

    private final FailureReason reason;
    private final java.util.ArrayList<String> lines;

    public CriuException(FailureReason reason, List<String> lines) {
        super(reason.sentence());
        this.reason = reason;
        this.lines = new java.util.ArrayList<>(lines);
    }

    public FailureReason reason() {
        return reason;
    }

    public List<String> lines() {
        return List.copyOf(lines);
    }
}
