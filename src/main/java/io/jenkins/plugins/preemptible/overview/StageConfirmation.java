package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.manual.Answer;
import io.jenkins.plugins.preemptible.manual.StageVerbs;
import io.jenkins.plugins.preemptible.view.ShownName;
import java.util.Arrays;
import java.util.Locale;
import java.util.Optional;

/** Asks whether something is meant that a user wants of one stage. */
public final class StageConfirmation extends Confirmation {

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

    private StageConfirmation(Verb verb, StageRecord stage) {
        this.verb = verb;
        this.stage = stage;
    }

    /** Empty when there is no such verb, or no such stage for the looking user. */
    static Optional<StageConfirmation> of(@CheckForNull String verb, @CheckForNull String stageId) {
        StageRecord stage = stageId == null ? null : StageRegistry.get().find(stageId);
        return stage == null || !ShownName.readable(stage.job())
                ? Optional.empty()
                : Verb.of(verb).map(known -> new StageConfirmation(known, stage));
    }

    @Override
    public String getText() {
        return verb.text();
    }

    @Override
    public String getQuestion() {
        return verb.question(stage.name(), stage.build());
    }

    @Override
    public String getVerb() {
        return verb.id();
    }

    @Override
    public String getStage() {
        return stage.id();
    }

    @CheckForNull
    @Override
    public String getAgent() {
        return null;
    }

    @Override
    public String getPage() {
        return Lists.SUSPENDED.page();
    }

    @Override
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
}
