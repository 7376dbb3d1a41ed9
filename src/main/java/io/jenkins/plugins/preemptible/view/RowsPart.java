package io.jenkins.plugins.preemptible.view;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import java.util.List;
import java.util.function.Function;
import org.kohsuke.stapler.Stapler;
import org.kohsuke.stapler.StaplerRequest2;

/**
 * At most {@value #MOST} rows of a table, beginning with the one that the request asks for: {@code ?from=50}.
 *
 * @param rows those of this part, in the table's order
 * @param from how many are before it
 * @param total of the whole table
 */
public record RowsPart<T>(List<T> rows, int from, int total) {

    public static final int MOST = 50;

    /** What the current request asks for; the first part when it asks for none, or for what there is not. */
    public static <T> RowsPart<T> asked(List<T> all) {
        StaplerRequest2 request = Stapler.getCurrentRequest2();
        int from = from(request == null ? null : request.getParameter("from"));
        return new RowsPart<>(all.stream().skip(from).limit(MOST).toList(), from, all.size());
    }

    private static int from(@CheckForNull String given) {
        try {
            return given == null ? 0 : Math.max(0, Integer.parseInt(given));
        } catch (NumberFormatException x) {
            // A page asks for its rows when it is half written: too late for a status of 400.
            return 0;
        }
    }

    /** The same part with each row as people see it. */
    public <R> RowsPart<R> map(Function<T, R> row) {
        return new RowsPart<>(rows.stream().map(row).toList(), from, total);
    }

    public List<T> getRows() {
        return rows;
    }

    /** Which rows these are; null when they are all. */
    @CheckForNull
    public String getPosition() {
        return rows.size() == total ? null : Messages.RowsPart_Position(from + 1, from + rows.size(), total);
    }

    /** Address of the rows before; null at the first. */
    @CheckForNull
    public String getBefore() {
        return from == 0 ? null : "?from=" + Math.max(0, from - MOST);
    }

    /** Address of the rows after; null at the last. */
    @CheckForNull
    public String getAfter() {
        return from + rows.size() >= total ? null : "?from=" + (from + MOST);
    }
}
