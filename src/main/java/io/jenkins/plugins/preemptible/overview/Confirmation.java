package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.hand.Answer;
import io.jenkins.plugins.preemptible.hand.StageVerbs;
import io.jenkins.plugins.preemptible.lifecycle.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.StageRegistry;
import io.jenkins.plugins.preemptible.view.ShownName;
import jakarta.servlet.http.HttpServletResponse;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/**
 * Something that a user wants of one stage, before it is done: the page that asks whether it is meant.
 *
 * <p>A page and a form, no script: it works in every browser, and what it does is a POST with a crumb.
 */
public final class Confirmation {

    /** What can be wanted. */
    enum Verb {
        SUSPEND,
        /** Keep a stage suspended that is suspended already. */
        HOLD,
        RESUME,
        NEVER;

        String id() {
            return name().toLowerCase(Locale.ROOT);
        }

        static Optional<Verb> of(@CheckForNull String id) {
            return Arrays.stream(values()).filter(verb -> verb.id().equals(id)).findFirst();
        }

        /** On the link and on the button. */
        String text() {
            return switch (this) {
                case SUSPEND -> Messages.Confirmation_Suspend();
                case HOLD -> Messages.Confirmation_Hold();
                case RESUME -> Messages.Confirmation_Resume();
                case NEVER -> Messages.Confirmation_Never();
            };
        }

        String question(String stage, String build) {
            return switch (this) {
                case SUSPEND -> Messages.Confirmation_SuspendQuestion(stage, build);
                case HOLD -> Messages.Confirmation_HoldQuestion(stage, build);
                case RESUME -> Messages.Confirmation_ResumeQuestion(stage, build);
                case NEVER -> Messages.Confirmation_NeverQuestion(build);
            };
        }
    }

    private final Verb verb;
    private final StageRecord stage;

    private Confirmation(Verb verb, StageRecord stage) {
        this.verb = verb;
        this.stage = stage;
    }

    /** What a request asks for; empty when there is no such verb, or no such stage for the looking user. */
    static Optional<Confirmation> of(@CheckForNull String verb, @CheckForNull String stageId) {
        StageRecord stage = stageId == null ? null : StageRegistry.get().find(stageId);
        return stage == null || !ShownName.readable(stage.job())
                ? Optional.empty()
                : Verb.of(verb).map(known -> new Confirmation(known, stage));
    }

    public String getText() {
        return verb.text();
    }

    public String getQuestion() {
        return verb.question(stage.name(), stage.build());
    }

    public String getVerb() {
        return verb.id();
    }

    public String getStage() {
        return stage.id();
    }

    /** Does it, if the user may. */
    Answer carryOut() {
        Run<?, ?> run;
        try {
            run = Run.fromExternalizableId(stage.runId());
        } catch (IllegalArgumentException x) {
            run = null;
        }
        if (run == null) {
            return gone();
        }
        return switch (verb) {
            case SUSPEND, HOLD -> StageVerbs.suspend(run, stage.id());
            case RESUME -> StageVerbs.resume(run, stage.id());
            case NEVER -> StageVerbs.never(run);
        };
    }

    static Answer gone() {
        return Answer.refused(HttpServletResponse.SC_NOT_FOUND, Messages.Confirmation_Gone());
    }
}
