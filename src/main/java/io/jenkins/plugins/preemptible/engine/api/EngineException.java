package io.jenkins.plugins.preemptible.engine.api;

import java.util.List;

/**
 * A refusal or a failure of the engine, told for people.
 *
 * <ol>
 *   <li>{@link #getMessage} names the thing, what it means for the stage, and the remedy.
 *   <li>{@link #reason} is the constant behind it, for programs.
 *   <li>{@link #criuLines} holds the decisive lines of CRIU's log, empty when CRIU was not reached.
 * </ol>
 */
public class EngineException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final FailureReason reason;
    private final String detail;
    private final java.util.ArrayList<String> criuLines;

    public EngineException(FailureReason reason, String detail, List<String> criuLines, Throwable cause) {
        super(text(reason, detail), cause);
        this.reason = reason;
        this.detail = detail;
        this.criuLines = new java.util.ArrayList<>(criuLines);
    }

    public EngineException(FailureReason reason, String detail) {
        this(reason, detail, List.of(), null);
    }

    private static String text(FailureReason reason, String detail) {
        StringBuilder text = new StringBuilder(reason.sentence());
        if (detail != null && !detail.isBlank()) {
            text.append(" (").append(detail).append(')');
        }
        return text.append(". ").append(reason.remedy()).append('.').toString();
    }

    public FailureReason reason() {
        return reason;
    }

    /** The thing that the reason is about, such as a path or a process; may be null. */
    public String detail() {
        return detail;
    }

    public List<String> criuLines() {
        return List.copyOf(criuLines);
    }
}
