package io.jenkins.plugins.preemptible.overview.parts;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.util.HttpResponses;
import jakarta.servlet.http.HttpServletResponse;
import java.util.List;
import org.kohsuke.stapler.StaplerRequest2;

/**
 * Which part of a list a page shows: {@code ?sort=priority&order=desc&from=100&count=50}.
 *
 * @param sort id of a column; null = in the list's own order
 * @param from 0 = the first row
 * @param count 1 to {@value #MOST}
 */
public record ListQuery(@CheckForNull String sort, boolean descending, int from, int count) {

    static final int DEFAULT = 100;
    static final int MOST = 500;

    /**
     * What a request asks for.
     *
     * @param columns ids that the list has
     * @throws HttpResponses.HttpResponseException with status 400 when it asks for what there is not
     */
    public static ListQuery of(StaplerRequest2 request, List<String> columns) {
        String sort = request.getParameter("sort");
        String order = request.getParameter("order");
        if (sort != null && !columns.contains(sort)) {
            throw wrong(Messages.ListQuery_NoColumn("sort", String.join(", ", columns)));
        }
        if (order != null && !order.equals("asc") && !order.equals("desc")) {
            throw wrong(Messages.ListQuery_NoColumn("order", "asc, desc"));
        }
        return new ListQuery(
                sort,
                "desc".equals(order),
                StatePage.number("from", request.getParameter("from"), 0, 0, Integer.MAX_VALUE),
                StatePage.number("count", request.getParameter("count"), DEFAULT, 1, MOST));
    }

    private static RuntimeException wrong(String message) {
        return HttpResponses.errorWithoutStack(HttpServletResponse.SC_BAD_REQUEST, message);
    }

    /** The address of the same list, sorted by that column; by the other direction if it is so sorted already. */
    String sortedBy(String column) {
        boolean down = column.equals(sort) && !descending;
        return "?sort=" + column + "&order=" + (down ? "desc" : "asc") + "&count=" + count;
    }

    /** The address of another part of the same list. */
    String at(int first) {
        return "?" + (sort == null ? "" : "sort=" + sort + "&order=" + (descending ? "desc" : "asc") + "&") + "from="
                + Math.max(0, first) + "&count=" + count;
    }
}
