package io.jenkins.plugins.preemptible.view;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Functions;
import hudson.Util;
import hudson.model.Action;
import hudson.model.BuildBadgeAction;
import hudson.model.InvisibleAction;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.view.SuspendedStages.View;
import java.util.Collection;
import java.util.List;
import java.util.stream.Collectors;
import jenkins.model.Jenkins;
import jenkins.model.TransientActionFactory;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;

/**
 * Marks a build in the classic pages while a stage of it is suspended.
 *
 * <ol>
 *   <li>The {@link Factory} makes one whenever a page asks for a build's actions and {@link SuspendedStages} knows a
 *       suspended stage of it.
 *   <li>The badge is in the job's list of builds, its tooltip has a line for each suspended stage; the build's own
 *       page has the same lines.
 *   <li>It is never saved: when the stage is resumed, it is gone.
 * </ol>
 */
@Restricted(NoExternalUse.class) // for its pages only
public final class SuspendedBadgeAction extends InvisibleAction implements BuildBadgeAction {

    private final List<View> stages;

    SuspendedBadgeAction(List<View> stages) {
        this.stages = List.copyOf(stages);
    }

    /** One line for each suspended stage. */
    public List<String> getSentences() {
        long now = System.currentTimeMillis();
        return stages.stream().map(stage -> sentence(stage, now)).toList();
    }

    /** All of them, for the badge. */
    public String getTooltip() {
        return getSentences().stream().collect(Collectors.joining("\n"));
    }

    private static String sentence(View stage, long now) {
        String span = Util.getTimeSpanString(Math.max(0, now - stage.sinceMillis()));
        String since = stage.preemptor() == null
                ? Messages.SuspendedBadgeAction_Suspended(stage.stage(), span)
                : Messages.SuspendedBadgeAction_SuspendedFor(stage.stage(), span, stage.preemptor());
        StringBuilder sentence = new StringBuilder(since);
        if (stage.byHand()) {
            sentence.append(' ').append(wanted(stage));
        }
        String wish = stage.moveTo();
        if (wish != null) {
            sentence.append(' ').append(Messages.SuspendedBadgeAction_MovesTo(shown(wish)));
        }
        if (stage.checkpointMillis() > 0) {
            String age = Util.getTimeSpanString(Math.max(0, now - stage.checkpointMillis()));
            sentence.append(' ').append(Messages.SuspendedBadgeAction_Checkpoint(age));
        }
        if (stage.agentGone() != null) {
            return sentence.append(' ').append(gone(stage, now)).toString();
        }
        if (stage.thawByMillis() > 0) {
            sentence.append(' ').append(Messages.SuspendedBadgeAction_FrozenOnly(ClockTime.of(stage.thawByMillis())));
        } else if (stage.memoryOnly()) {
            sentence.append(' ').append(Messages.SuspendedBadgeAction_MemoryOnly());
        } else if (stage.unsealed()) {
            sentence.append(' ').append(Messages.SuspendedBadgeAction_Unsealed());
        } else if (stage.frozen()) {
            sentence.append(' ').append(Messages.SuspendedBadgeAction_Frozen());
        } else if (stage.imageBytes() > 0) {
            sentence.append(' ')
                    .append(
                            stage.stored()
                                    ? Messages.SuspendedBadgeAction_Stored(size(stage))
                                    : Messages.SuspendedBadgeAction_Image(size(stage)));
        }
        return sentence.toString();
    }

    private static String size(View stage) {
        return Functions.humanReadableByteSize(stage.imageBytes());
    }

    private static String shown(String agent) {
        return agent.isEmpty() ? Jenkins.get().getDisplayName() : agent;
    }

    /** One that is frozen only, or is to move, runs again by itself: nobody has to resume it. */
    private static String wanted(View stage) {
        if (stage.thawByMillis() > 0 || stage.moveTo() != null) {
            return stage.byHandUser() == null
                    ? Messages.SuspendedBadgeAction_Wanted()
                    : Messages.SuspendedBadgeAction_WantedBy(stage.byHandUser());
        }
        return stage.byHandUser() == null
                ? Messages.SuspendedBadgeAction_ByHand()
                : Messages.SuspendedBadgeAction_ByHandOf(stage.byHandUser());
    }

    private static String gone(View stage, long now) {
        if (stage.endsMillis() < 0) {
            return Messages.SuspendedBadgeAction_GoesElsewhere(stage.agentGone());
        }
        return stage.endsMillis() == 0
                ? Messages.SuspendedBadgeAction_AgentGone(stage.agentGone())
                : Messages.SuspendedBadgeAction_AgentGoneUntil(
                        stage.agentGone(), Util.getTimeSpanString(Math.max(0, stage.endsMillis() - now)));
    }

    /** Adds the badge to builds that have a suspended stage. */
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
            return SuspendedBadgeAction.class;
        }

        @NonNull
        @Override
        public Collection<? extends Action> createFor(@NonNull Run target) {
            if (!target.isBuilding()) {
                return List.of();
            }
            List<View> stages = SuspendedStages.allOf((Run<?, ?>) target);
            return stages.isEmpty() ? List.of() : List.of(new SuspendedBadgeAction(stages));
        }
    }
}
