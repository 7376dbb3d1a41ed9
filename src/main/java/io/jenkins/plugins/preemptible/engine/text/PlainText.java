package io.jenkins.plugins.preemptible.engine.text;

import java.util.ArrayList;
import java.util.Collection;
import java.util.Iterator;
import java.util.List;

/**
 * Text of an agent, a process or a Jenkinsfile, made fit for records, logs, pages and terminals.
 *
 * <ol>
 *   <li>Control and format characters, which move a cursor or turn the direction of writing, become blanks.
 *   <li>Lone surrogates, noncharacters and unassigned code points, which XML cannot hold, become question marks.
 *   <li>What is longer than the limit is cut, and ends with an ellipsis.
 * </ol>
 *
 * The result is the same when it is cleaned again. Pure; the time depends on the limit, not on the text's length.
 */
public final class PlainText {

    /** Longest text in characters (UTF-16 units) that {@link #of(String)} returns. */
    public static final int LONGEST = 500;

    private PlainText() {}

    /** The clean text, of at most {@value #LONGEST} characters; null stays null. */
    public static String of(String text) {
        return of(text, LONGEST);
    }

    /**
     * The clean text; null stays null.
     *
     * @param longest characters (UTF-16 units) that are kept, the ellipsis included; at least 1
     */
    public static String of(String text, int longest) {
        if (text == null) {
            return null;
        }
        StringBuilder clean = new StringBuilder(Math.min(text.length(), longest));
        int at = 0;
        while (at < text.length()) {
            int point = text.codePointAt(at);
            int width = Character.charCount(point);
            // One character is kept free for the ellipsis, unless this is the last code point.
            int room = longest - clean.length() - (at + width < text.length() ? 1 : 0);
            if (width > room) {
                return clean.append('…').toString();
            }
            clean.appendCodePoint(fit(point));
            at += width;
        }
        return clean.toString();
    }

    /**
     * The clean texts of a list that came from an agent: entries that are no strings are left out.
     *
     * @param texts null counts as empty; read up to {@code most} entries, even when the list claims another size
     * @return unmodifiable, at most {@code most} texts
     */
    public static List<String> lines(Collection<?> texts, int most) {
        List<String> clean = new ArrayList<>();
        Iterator<?> all = texts == null ? List.of().iterator() : texts.iterator();
        for (int read = 0; read < most && all.hasNext(); read++) {
            if (all.next() instanceof String text) {
                clean.add(of(text));
            }
        }
        return List.copyOf(clean);
    }

    /** Whether a text can be kept as it is, at any length. */
    public static boolean is(String text) {
        return text != null && text.codePoints().allMatch(point -> fit(point) == point);
    }

    private static int fit(int point) {
        return switch (Character.getType(point)) {
            case Character.CONTROL, Character.FORMAT, Character.LINE_SEPARATOR, Character.PARAGRAPH_SEPARATOR -> ' ';
            // Noncharacters such as U+FFFE count as unassigned.
            case Character.SURROGATE, Character.UNASSIGNED -> '?';
            default -> point;
        };
    }
}
