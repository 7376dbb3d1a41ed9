package io.jenkins.plugins.preemptible.view;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.jvnet.localizer.ResourceBundleHolder;

/**
 * The engine's sentences in the words of this package's {@code Messages.properties}, for pages.
 *
 * <ol>
 *   <li>The engine writes English, into logs, onto the command line and into what Jenkins saves.
 *   <li>A page shows a constant by {@link #of(Reason)}, and a saved or received sentence by {@link #of(String)}. The
 *       English sentence is the key, as in gettext: so sentences of earlier suspensions and of agents are found, too.
 *   <li>What is no sentence of the engine is shown as it is, such as the detail in brackets.
 * </ol>
 *
 * In the language of the request, or the controller's outside of requests. Any thread, no lock.
 */
public final class ShownSentence {

    private static final ResourceBundleHolder WORDS = ResourceBundleHolder.get(Messages.class);

    private static final Map<String, Reason> REASONS =
            Arrays.stream(Reason.values()).collect(Collectors.toUnmodifiableMap(Reason::sentence, Function.identity()));

    private ShownSentence() {}

    /** With its full stop. */
    public static String of(Reason reason) {
        return WORDS.format(key(reason));
    }

    /** Without the full stop. */
    public static String of(FailureReason reason) {
        return WORDS.format(key(reason));
    }

    /** What the reader can do about it, without the full stop. */
    public static String remedy(FailureReason reason) {
        return WORDS.format(remedyKey(reason));
    }

    /**
     * A sentence that was saved with the name of its constant.
     *
     * @param constant of {@link Reason}, or of a version that had others
     * @param sentence shown where the constant is unknown
     */
    public static String of(String constant, String sentence) {
        return Arrays.stream(Reason.values())
                .filter(reason -> reason.name().equals(constant))
                .findFirst()
                .map(ShownSentence::of)
                .orElse(sentence);
    }

    /**
     * A sentence that the engine may have written.
     *
     * @param text in English; null for none
     * @return null for null
     */
    @CheckForNull
    public static String of(@CheckForNull String text) {
        if (text == null) {
            return null;
        }
        Reason known = REASONS.get(text);
        return known != null
                ? of(known)
                : failure(text).map(reason -> shown(reason, text)).orElse(text);
    }

    /** The failure whose sentence the text begins with. */
    private static Optional<FailureReason> failure(String text) {
        return Arrays.stream(FailureReason.values())
                .filter(reason -> beginsWith(text, reason.sentence()))
                .max(Comparator.comparingInt(reason -> reason.sentence().length()));
    }

    private static boolean beginsWith(String text, String sentence) {
        return text.startsWith(sentence)
                && (text.length() == sentence.length() || ".: (".indexOf(text.charAt(sentence.length())) >= 0);
    }

    private static String shown(FailureReason reason, String text) {
        String rest = text.substring(reason.sentence().length());
        int remedy = rest.lastIndexOf(reason.remedy());
        return of(reason)
                + (remedy < 0
                        ? rest
                        : rest.substring(0, remedy)
                                + remedy(reason)
                                + rest.substring(remedy + reason.remedy().length()));
    }

    static String key(Reason reason) {
        return "Reason." + reason.name();
    }

    static String key(FailureReason reason) {
        return "FailureReason." + reason.name();
    }

    static String remedyKey(FailureReason reason) {
        return key(reason) + ".Remedy";
    }
}
