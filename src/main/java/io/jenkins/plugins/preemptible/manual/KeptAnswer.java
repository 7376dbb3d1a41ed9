package io.jenkins.plugins.preemptible.manual;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import jakarta.servlet.http.HttpSession;
import java.io.Serializable;
import org.kohsuke.stapler.StaplerRequest2;

/**
 * What a browser's last request was answered, until the page that it is led back to has shown it.
 *
 * <ol>
 *   <li>Kept in the browser's session: nobody else sees it, and it ends with that.
 *   <li>One at a time; a later answer replaces one that was not shown.
 *   <li>Shown once, by the page that it is for only, and not by one that was open and refreshes itself.
 * </ol>
 *
 * @param page below Jenkins' own address
 * @param done whether the request was carried out
 * @param message a sentence for people
 */
public record KeptAnswer(String page, boolean done, String message) implements Serializable {

    private static final String ATTRIBUTE = KeptAnswer.class.getName();

    /** With it a page that is open already is fetched anew, by live.js: what is put in of that has no place for an answer. */
    static final String ANEW = "X-Preemptible-Anew";

    /** Of the alert, for addresses that lead there: on a narrow screen it is far down. */
    static final String ANCHOR = "preemptible-answer";

    static void keep(StaplerRequest2 request, KeptAnswer answer) {
        request.getSession().setAttribute(ATTRIBUTE, answer);
    }

    /** Whether there is one for that page. */
    static boolean isFor(@CheckForNull StaplerRequest2 request, String page) {
        return of(request, page) != null;
    }

    /** The one for that page, which is not kept any longer; null when there is none. */
    @CheckForNull
    public static KeptAnswer take(@CheckForNull StaplerRequest2 request, String page) {
        KeptAnswer answer = of(request, page);
        if (answer != null) {
            request.getSession().removeAttribute(ATTRIBUTE);
        }
        return answer;
    }

    @CheckForNull
    private static KeptAnswer of(@CheckForNull StaplerRequest2 request, String page) {
        HttpSession session = request == null || request.getHeader(ANEW) != null ? null : request.getSession(false);
        return session != null && session.getAttribute(ATTRIBUTE) instanceof KeptAnswer answer && answer.isFor(page)
                ? answer
                : null;
    }

    private boolean isFor(String shown) {
        return page.equals(shown);
    }

    /** Its id on the page. */
    public String getAnchor() {
        return ANCHOR;
    }

    /** Core's class of such an alert, and ours. */
    public String getStyle() {
        return "preemptible-answer jenkins-alert " + (done ? "jenkins-alert-success" : "jenkins-alert-danger");
    }
}
