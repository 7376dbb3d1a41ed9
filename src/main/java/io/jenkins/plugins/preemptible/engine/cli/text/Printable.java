package io.jenkins.plugins.preemptible.engine.cli.text;

import java.util.Locale;

/**
 * Text for people, made of text that a stage chose.
 *
 * <ol>
 *   <li>Every character that could drive a terminal or turn the direction of writing becomes a question mark.
 *   <li>What is too long is cut, with a mark.
 *   <li>Sizes get the unit in which they have one to three digits before the point.
 * </ol>
 */
public final class Printable {

    private Printable() {}

    /** Without control and format characters, C1's and lone surrogates included; {@code unknown} for null. */
    public static String of(String text) {
        if (text == null) {
            return "unknown";
        }
        StringBuilder printable = new StringBuilder(text.length());
        text.codePoints().forEach(c -> {
            switch (Character.getType(c)) {
                case Character.CONTROL,
                        Character.FORMAT,
                        Character.SURROGATE,
                        Character.PRIVATE_USE,
                        Character.UNASSIGNED,
                        Character.LINE_SEPARATOR,
                        Character.PARAGRAPH_SEPARATOR -> printable.append('?');
                default -> printable.appendCodePoint(c);
            }
        });
        return printable.toString();
    }

    /** The same, of at most this many characters. */
    public static String of(String text, int longest) {
        String printable = of(text);
        if (printable.length() <= longest) {
            return printable;
        }
        int end = longest - 1;
        return printable.substring(0, Character.isHighSurrogate(printable.charAt(end - 1)) ? end - 1 : end) + "…";
    }

    /** Such as {@code 640 bytes}, {@code 4.0 KB} or {@code 1.4 GB}; a KB has 1024 bytes. */
    public static String size(long bytes) {
        if (bytes < 1024) {
            return bytes + " bytes";
        }
        String[] units = {"KB", "MB", "GB", "TB", "PB", "EB"};
        double size = bytes / 1024.0;
        int unit = 0;
        while (size >= 999.95 && unit < units.length - 1) {
            size /= 1024;
            unit++;
        }
        return String.format(Locale.ROOT, "%.1f %s", size, units[unit]);
    }
}
