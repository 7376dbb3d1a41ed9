package io.jenkins.plugins.preemptible.acceptance.faults;

import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/** What stands between two comments of a page, and is written by a run. */
final class FigureTables {

    private static final String BEGIN = "<!-- figures -->";
    private static final String END = "<!-- end of figures -->";

    private FigureTables() {}

    /** The page with that text between its two comments; as it is when it has none. */
    static String with(String page, CharSequence text) {
        int begin = page.indexOf(BEGIN);
        int end = page.indexOf(END);
        if (begin < 0 || end < begin) {
            return page;
        }
        return page.substring(0, begin) + BEGIN + "\n\n" + text + page.substring(end);
    }

    /** A table of two columns: how many rounds have each key. */
    static <L> void counts(StringBuilder text, String title, List<L> rounds, Function<L, String> key) {
        Map<String, Long> counts = new TreeMap<>();
        rounds.forEach(line -> counts.merge(
                key.apply(line).isEmpty() ? "lost before the fault came, or not known" : key.apply(line),
                1L,
                Long::sum));
        text.append("\n| ").append(title).append(" | Rounds |\n| --- | --- |\n");
        counts.forEach((name, count) ->
                text.append("| ").append(name).append(" | ").append(count).append(" |\n"));
    }
}
