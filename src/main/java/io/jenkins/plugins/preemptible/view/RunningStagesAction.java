package io.jenkins.plugins.preemptible.view;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.ExtensionList;
import hudson.Util;
import hudson.model.Action;
import hudson.model.InvisibleAction;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.view.SuspendedStages.Running;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import jenkins.model.TransientActionFactory;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;

/**
 * Says on a build's own page which of its running stages cannot be suspended, and from what one was resumed.
 *
 * <ol>
 *   <li>The {@link Factory} makes one whenever a page asks for a build's actions and there is something to say.
 *   <li>The page has one line for each such stage and each such thing.
 *   <li>It is never saved: when the stage ends, it is gone.
 * </ol>
 */
@Restricted(NoExternalUse.class) // for its page only
public final class RunningStagesAction extends InvisibleAction {

    private final List<Running> stages;

    RunningStagesAction(List<Running> stages) {
        this.stages = List.copyOf(stages);
    }

    public List<String> getSentences() {
        List<String> sentences = new ArrayList<>();
        for (Running stage : stages) {
            if (stage.whyNotSuspendable() != null) {
                sentences.add(Messages.RunningStagesAction_NotSuspendable(
                        stage.stage(), ShownSentence.of(stage.whyNotSuspendable())));
            }
            if (stage.whyOnlyFrozen() != null) {
                sentences.add(Messages.RunningStagesAction_OnlyFrozen(
                        stage.stage(), ShownSentence.of(stage.whyOnlyFrozen())));
            }
            if (stage.resumedFrom() != null) {
                String span = Util.getTimeSpanString(Math.max(0, System.currentTimeMillis() - stage.resumedMillis()));
                sentences.add(Messages.RunningStagesAction_Resumed(stage.stage(), span, stage.resumedFrom()));
            }
        }
        return sentences;
    }

    /** Adds the lines to builds that run. */
    @Extension
    @SuppressWarnings("rawtypes")
    public static final class Factory extends TransientActionFactory<Run> {

        @Override
        public Class<Run> type() {
            return Run.class;
        }

        @Override
        public Class<? extends Action> actionType() {
            // Tells core not to ask when it looks for other actions, which it does often.
            return RunningStagesAction.class;
        }

        @NonNull
        @Override
        public Collection<? extends Action> createFor(@NonNull Run target) {
            if (!target.isBuilding()) {
                return List.of();
            }
            List<Running> stages = ExtensionList.lookup(SuspendedStages.class).stream()
                    .flatMap(known -> known.runningOf((Run<?, ?>) target).stream())
                    .toList();
            return stages.isEmpty() ? List.of() : List.of(new RunningStagesAction(stages));
        }
    }
}
