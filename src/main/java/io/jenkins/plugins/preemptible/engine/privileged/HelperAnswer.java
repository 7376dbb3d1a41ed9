package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * An answer of the privileged part: {@code ok}, then lines of a name, a blank and a value; or {@code refused REASON
 * sentence}.
 */
public record HelperAnswer(Map<String, String> values) {

    private static final String OK = "ok";
    private static final String REFUSED = "refused ";
    private static final String OTHER_VERSION = ": the privileged part on this host is of another version. Call"
            + " ./preempt install-helper --user NAME there again, as root; stages are kept";

    public HelperAnswer {
        values = Map.copyOf(values);
    }

    /**
     * @throws EngineException the refusal; a {@link SuspendFailedException} for {@link Verb#FREEZE} or {@link
     *     Verb#DUMP}
     * @throws IOException when it has neither of the two forms
     */
    static HelperAnswer parse(Verb verb, String text) throws IOException {
        List<String> lines = text.lines().toList();
        if (!lines.isEmpty() && lines.get(0).startsWith(REFUSED)) {
            throw refusal(verb, lines.get(0).substring(REFUSED.length()));
        }
        if (lines.isEmpty() || !lines.get(0).equals(OK)) {
            throw new IOException("the answer is not understood" + OTHER_VERSION);
        }
        Map<String, String> values = new HashMap<>();
        for (String line : lines.subList(1, lines.size())) {
            int blank = line.indexOf(' ');
            if (blank < 1) {
                throw new IOException("the answer is not understood" + OTHER_VERSION);
            }
            values.put(line.substring(0, blank), line.substring(blank + 1));
        }
        return new HelperAnswer(values);
    }

    private static EngineException refusal(Verb verb, String text) throws IOException {
        String[] words = text.split(" ", 2);
        String sentence = words.length == 2 ? words[1] : "";
        try {
            FailureReason reason = FailureReason.valueOf(words[0]);
            return verb == Verb.FREEZE || verb == Verb.DUMP
                    ? new SuspendFailedException(reason, sentence)
                    : new EngineException(reason, sentence);
        } catch (IllegalArgumentException e) {
            throw new IOException("the reason '" + words[0] + "' is not understood" + OTHER_VERSION, e);
        }
    }

    /** The value of this name; empty when the answer has none. */
    public String text(String name) {
        return values.getOrDefault(name, "");
    }

    /**
     * The state of the stage that was asked for.
     *
     * @throws IOException when the answer has none that is known here
     */
    public HostState state() throws IOException {
        try {
            return HostState.of(text("state"));
        } catch (IllegalArgumentException e) {
            throw new IOException("the state '" + text("state") + "' is not understood" + OTHER_VERSION, e);
        }
    }

    /**
     * @throws IOException when there is no number of this name
     */
    public long number(String name) throws IOException {
        try {
            return Long.parseLong(text(name));
        } catch (NumberFormatException e) {
            throw new IOException("the answer has no number '" + name + "'", e);
        }
    }
}
