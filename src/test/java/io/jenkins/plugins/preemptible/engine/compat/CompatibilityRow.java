package io.jenkins.plugins.preemptible.engine.compat;

import java.util.Comparator;

/**
 * One line of docs/compatibility.md: something that was tried as a stage, and what came of it.
 *
 * @param version of the program; empty where there is none
 * @param work what it was doing when it was suspended
 * @param suspended how often it was suspended, {@code resumed} how often it went on
 * @param result one of yes, refused (it ran on), no and not tried
 * @param dumpMillis the longest of its dumps, -1 without one
 * @param imageBytes the largest of its images before they were packed, -1 without one
 * @param remark why not, or what has to be known; may be empty
 */
record CompatibilityRow(
        Part part,
        String subject,
        String version,
        String work,
        int suspended,
        int resumed,
        Result result,
        long dumpMillis,
        long imageBytes,
        String remark) {

    /** By part, then by name, never by chance. */
    static final Comparator<CompatibilityRow> ORDER = Comparator.comparing(CompatibilityRow::part)
            .thenComparing(r -> r.subject().toLowerCase(java.util.Locale.ROOT))
            .thenComparing(CompatibilityRow::work);

    /** What became of a trial. */
    enum Result {
        YES("yes"),
        REFUSED("refused"),
        NO("no"),
        NOT_TRIED("not tried");

        final String text;

        Result(String text) {
            this.text = text;
        }
    }

    String markdown() {
        boolean tried = result != Result.NOT_TRIED;
        return "| "
                + String.join(
                        " | ",
                        cell(subject),
                        cell(version),
                        cell(work),
                        tried ? Integer.toString(suspended) : "",
                        tried ? Integer.toString(resumed) : "",
                        result == Result.NO ? "**no**" : result.text,
                        dumpMillis < 0 ? "" : Long.toString(dumpMillis),
                        imageBytes < 0 ? "" : String.format(java.util.Locale.ROOT, "%.1f", imageBytes / 1e6),
                        cell(remark))
                + " |";
    }

    private static String cell(String text) {
        return text == null ? "" : text.strip().replaceAll("\\s+", " ").replace("|", "\\|");
    }
}
