package io.jenkins.plugins.preemptible.manual;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.model.Failure;
import hudson.security.AccessDeniedException3;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import jakarta.servlet.ServletException;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Supplier;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;
import net.sf.json.JSONArray;
import net.sf.json.JSONObject;
import org.kohsuke.stapler.HttpResponse;
import org.kohsuke.stapler.Stapler;
import org.kohsuke.stapler.StaplerRequest2;
import org.kohsuke.stapler.StaplerResponse2;

/**
 * The result of a manual request.
 *
 * <ol>
 *   <li>A status as HTTP has them, one sentence for people, and what became of each stage that was meant.
 *   <li>Programs get it as JSON: {@code {"ok":true,"message":…,"stages":[…]}}.
 *   <li>Browsers, which say that they want a page, are led back to where the button was, which shows the sentence once; see
 *       {@link KeptAnswer}. Where no page shows it they see a refusal on Jenkins' own page for errors, which has the status 400.
 * </ol>
 *
 * Made and used by one thread.
 */
public final class Answer implements HttpResponse {

    /** What became of one stage. */
    public record OfStage(String id, String stage, boolean ok, String message) {}

    private static final int LONGEST_ECHO = 100;

    private static final Logger LOGGER = Logger.getLogger(Answer.class.getName());

    private final int status;
    private final String message;
    private final List<OfStage> stages;
    private String page = "";
    private boolean shownThere;

    private Answer(int status, String message, List<OfStage> stages) {
        this.status = status;
        this.message = message;
        this.stages = List.copyOf(stages);
    }

    public static Answer done(String message) {
        return new Answer(HttpServletResponse.SC_OK, message, List.of());
    }

    /** The same, with what became of each stage. */
    static Answer done(String message, List<OfStage> stages) {
        return new Answer(HttpServletResponse.SC_OK, message, stages);
    }

    /** @param status as HTTP has them: 400, 403, 404, 405, 409 or 500 */
    public static Answer refused(int status, String message) {
        return new Answer(status, message, List.of());
    }

    /**
     * To a request that is for none of the verbs, or for one of them with another method than POST.
     *
     * @param verbs the last parts of the addresses that there are
     */
    public static Answer toOther(StaplerRequest2 request, List<String> verbs) {
        String asked = request.getRestOfPath().replaceFirst("^/", "");
        return verbs.contains(asked)
                ? refused(
                        HttpServletResponse.SC_METHOD_NOT_ALLOWED,
                        Messages.Answer_NeedsPost(asked, echoed(request.getMethod())))
                : refused(
                        HttpServletResponse.SC_NOT_FOUND,
                        Messages.Answer_NothingThere(echoed(asked), String.join(", ", verbs)));
    }

    /** A word of the request as an answer repeats it: clean, and short enough for a line. */
    static String echoed(String word) {
        return PlainText.of(word, LONGEST_ECHO);
    }

    /** Done when it was done with any stage; else refused, since the stages are not in a state for it. */
    public static Answer of(List<OfStage> stages) {
        List<String> sentences = new ArrayList<>();
        stages.forEach(stage -> sentences.add(stage.message()));
        boolean any = stages.stream().anyMatch(OfStage::ok);
        int status = any ? HttpServletResponse.SC_OK : HttpServletResponse.SC_CONFLICT;
        return new Answer(status, String.join(" ", sentences), stages);
    }

    /**
     * The answer to a request of the web whose page shows what was answered.
     *
     * @param page where the button was, below Jenkins' own address
     * @throws AccessDeniedException3 for browsers only, which are led to the login by it
     */
    public static Answer toButton(@NonNull String page, Supplier<Answer> verb) {
        Answer answer = toRequest(page, verb);
        answer.shownThere = true;
        return answer;
    }

    /** The same where the page does not show it. */
    public static Answer toRequest(@NonNull String page, Supplier<Answer> verb) {
        Answer answer;
        try {
            answer = verb.get();
        } catch (AccessDeniedException3 x) {
            if (wantsPage(Stapler.getCurrentRequest2())) {
                throw x;
            }
            answer = refused(HttpServletResponse.SC_FORBIDDEN, Messages.Answer_Forbidden(x.getMessage()));
        } catch (UncheckedIOException x) {
            LOGGER.log(Level.WARNING, "a manual request was not carried out", x);
            answer = refused(HttpServletResponse.SC_INTERNAL_SERVER_ERROR, Messages.Answer_NotSaved(x.getMessage()));
        }
        answer.page = page;
        return answer;
    }

    boolean ok() {
        return status == HttpServletResponse.SC_OK;
    }

    int status() {
        return status;
    }

    String message() {
        return message;
    }

    JSONObject json() {
        JSONObject json = new JSONObject();
        json.put("ok", ok());
        json.put("message", message);
        JSONArray all = new JSONArray();
        for (OfStage stage : stages) {
            JSONObject one = new JSONObject();
            one.put("id", stage.id());
            one.put("stage", stage.stage());
            one.put("ok", stage.ok());
            one.put("message", stage.message());
            all.add(one);
        }
        if (!all.isEmpty()) {
            json.put("stages", all);
        }
        return json;
    }

    @Override
    public void generateResponse(StaplerRequest2 request, StaplerResponse2 response, @CheckForNull Object node)
            throws IOException, ServletException {
        if (!wantsPage(request)) {
            response.setStatus(status);
            if (status == HttpServletResponse.SC_METHOD_NOT_ALLOWED) {
                response.setHeader("Allow", "POST");
            }
            response.setContentType("application/json;charset=UTF-8");
            response.getWriter().print(json());
        } else if (shownThere) {
            KeptAnswer.keep(request, new KeptAnswer(page, ok(), message));
            response.sendRedirect(request.getContextPath() + "/" + page + "#" + KeptAnswer.ANCHOR);
        } else if (ok()) {
            response.sendRedirect(request.getContextPath() + "/" + page);
        } else {
            new Failure(message).generateResponse(request, response, Jenkins.get());
        }
    }

    private static boolean wantsPage(@CheckForNull StaplerRequest2 request) {
        String accepted = request == null ? null : request.getHeader("Accept");
        return accepted != null && accepted.contains("text/html");
    }
}
