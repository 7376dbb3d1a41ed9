package io.jenkins.plugins.preemptible.overview.parts;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;

/**
 * One page of one list, ready to be shown.
 *
 * <ol>
 *   <li>All rows are sorted; only those of the page are turned into cells.
 *   <li>Rows that are equal by the chosen column stay in the list's own order.
 * </ol>
 */
public final class Listing {

    /** @param sorted aria-sort's value: ascending, descending or none */
    public record Head(String title, String href, String sorted) {}

    /** @param href below Jenkins' own address: a page that asks for a confirmation first */
    public record Step(String text, String href) {}

    /** One row. @param steps what the looking user may do */
    public record Row(List<Cell> cells, List<Step> steps) {}

    private final ListQuery query;
    private final List<Head> heads;
    private final List<Row> rows;
    private final int total;

    private Listing(ListQuery query, List<Head> heads, List<Row> rows, int total) {
        this.query = query;
        this.heads = heads;
        this.rows = rows;
        this.total = total;
    }

    /** @param all in the list's own order */
    public static <T> Listing of(
            Collection<T> all, List<Column<T>> columns, Function<T, List<Step>> steps, ListQuery query) {
        Comparator<T> order = columns.stream()
                .filter(column -> column.id().equals(query.sort()))
                .map(Column::order)
                .findFirst()
                .map(given -> query.descending() ? given.reversed() : given)
                .orElse((a, b) -> 0);
        List<Row> rows = all.stream()
                .sorted(order)
                .skip(query.from())
                .limit(query.count())
                .map(one -> new Row(
                        columns.stream().map(column -> column.cell().apply(one)).toList(), steps.apply(one)))
                .toList();
        List<Head> heads = columns.stream()
                .map(column -> new Head(
                        column.title(),
                        query.sortedBy(column.id()),
                        !column.id().equals(query.sort()) ? "none" : query.descending() ? "descending" : "ascending"))
                .toList();
        return new Listing(query, heads, rows, all.size());
    }

    public List<Head> getHeads() {
        return heads;
    }

    public List<Row> getRows() {
        return rows;
    }

    public int getTotal() {
        return total;
    }

    /** Whether any row has something that can be done. */
    public boolean isWithSteps() {
        return rows.stream().anyMatch(row -> !row.steps().isEmpty());
    }

    /** Which rows these are, when that is not all of them. */
    @CheckForNull
    public String getPosition() {
        return rows.size() == total
                ? null
                : Messages.Listing_Position(query.from() + 1, query.from() + rows.size(), total);
    }

    /** Address of the rows before; null at the first. */
    @CheckForNull
    public String getBefore() {
        return query.from() == 0 ? null : query.at(query.from() - query.count());
    }

    /** Address of the rows after; null at the last. */
    @CheckForNull
    public String getAfter() {
        return query.from() + rows.size() >= total ? null : query.at(query.from() + query.count());
    }
}
