package io.jenkins.plugins.preemptible.engine.api;

import java.util.List;

/**
 * A suspension that failed: nothing of the attempt is left, and the stage runs or is frozen as the caller asked.
 *
 * <ol>
 *   <li>Thrown after the engine cleaned up, so the stage's state is settled when it arrives.
 *   <li>{@link #reason} says why in one constant, with a sentence and a remedy.
 *   <li>{@link #criuLines} holds CRIU's own words where CRIU refused.
 * </ol>
 */
public final class SuspendFailedException extends EngineException {

    private static final long serialVersionUID = 1L;

    public SuspendFailedException(FailureReason reason, String detail, List<String> criuLines, Throwable cause) {
        super(reason, detail, criuLines, cause);
    }

    public SuspendFailedException(FailureReason reason, String detail) {
        super(reason, detail);
    }
}
