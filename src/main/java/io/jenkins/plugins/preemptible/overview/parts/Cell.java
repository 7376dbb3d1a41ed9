package io.jenkins.plugins.preemptible.overview.parts;

import edu.umd.cs.findbugs.annotations.CheckForNull;

/**
 * What one column shows of one row.
 *
 * @param href below Jenkins' own address; null when it is no link
 * @param tooltip more of the same; null when there is no more
 */
public record Cell(
        String text,
        @CheckForNull String href,
        @CheckForNull String tooltip) {

    public static Cell of(@CheckForNull Object text) {
        return new Cell(text == null ? "" : text.toString(), null, null);
    }

    public static Cell link(String text, @CheckForNull String href) {
        return new Cell(text, href, null);
    }
}
