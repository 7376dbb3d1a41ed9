package io.jenkins.plugins.preemptible.overview.parts;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.util.HttpResponses;
import jakarta.servlet.http.HttpServletResponse;
import java.util.List;
import java.util.stream.Stream;
import org.kohsuke.stapler.Stapler;
import org.kohsuke.stapler.StaplerRequest2;

/**
 * The part of each list of the whole state that a request asks for: {@code ?from=200&count=100}.
 *
 * <p>A controller may have ten thousand items that wait: without a bound each answer would have megabytes.
 *
 * @param from 0 = the first one
 * @param count 0 to {@value #MOST}
 */
public record StatePage(int from, int count) {

    static final int DEFAULT = 200;
    static final int MOST = 2_000;

    /**
     * What the current request asks for; without one, the first {@value #DEFAULT}.
     *
     * @throws HttpResponses.HttpResponseException with status 400 when it asks for something else than numbers in range
     */
    public static StatePage asked() {
        StaplerRequest2 request = Stapler.getCurrentRequest2();
        return request == null
                ? new StatePage(0, DEFAULT)
                : new StatePage(
                        number("from", request.getParameter("from"), 0, 0, Integer.MAX_VALUE),
                        number("count", request.getParameter("count"), DEFAULT, 0, MOST));
    }

    /** @throws HttpResponses.HttpResponseException with status 400 when that is no number in range */
    static int number(String name, @CheckForNull String value, int byDefault, int least, int most) {
        if (value == null) {
            return byDefault;
        }
        try {
            int number = Integer.parseInt(value);
            if (number >= least && number <= most) {
                return number;
            }
        } catch (NumberFormatException x) {
            // told below
        }
        throw HttpResponses.errorWithoutStack(
                HttpServletResponse.SC_BAD_REQUEST,
                Messages.StatePage_NoNumber(name, String.valueOf(least), String.valueOf(most)));
    }

    public <T> List<T> of(List<T> all) {
        return of(all.stream()).toList();
    }

    public <T> Stream<T> of(Stream<T> all) {
        return all.skip(from).limit(count);
    }
}
