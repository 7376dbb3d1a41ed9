package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.manual.Answer;
import jakarta.servlet.http.HttpServletResponse;
import java.util.Optional;
import org.kohsuke.stapler.StaplerRequest2;

/**
 * Something that a user wants of a stage or an agent, before it is done: the page that asks whether it is meant.
 *
 * <p>A page and a form, no script: it works in every browser, and what it does is a POST with a crumb.
 */
public abstract class Confirmation {

    /** The address of such a page, below Jenkins' own. */
    static final String ADDRESS = PreemptibleRootAction.URL + "/confirm";

    /**
     * What a request asks for by its parameters: {@code verb} and one of {@code stage} and {@code agent}.
     *
     * @return empty when there is no such verb, or nothing of that name for the looking user
     */
    static Optional<? extends Confirmation> of(StaplerRequest2 request) {
        String verb = request.getParameter("verb");
        String agent = request.getParameter("agent");
        return agent == null
                ? StageConfirmation.of(verb, request.getParameter("stage"))
                : AgentConfirmation.of(verb, agent);
    }

    /** On the link and on the button. */
    public abstract String getText();

    public abstract String getQuestion();

    /** As in the address. */
    public abstract String getVerb();

    /** Id of the stage; null when it is for an agent. */
    @CheckForNull
    public abstract String getStage();

    /** Name of the agent, empty for the built-in node; null when it is for a stage. */
    @CheckForNull
    public abstract String getAgent();

    /** Where the user is afterwards, below Jenkins' own address. */
    public abstract String getPage();

    /** Does it, if the user may. */
    abstract Answer carryOut();

    static Answer gone() {
        return Answer.refused(HttpServletResponse.SC_NOT_FOUND, Messages.Confirmation_Gone());
    }
}
