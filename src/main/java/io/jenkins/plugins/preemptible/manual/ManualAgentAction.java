package io.jenkins.plugins.preemptible.manual;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.Action;
import hudson.model.Computer;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.history.AgentTimelines;
import io.jenkins.plugins.preemptible.history.Timeline;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.view.RowsPart;
import io.jenkins.plugins.preemptible.view.ShownName;
import io.jenkins.plugins.preemptible.view.ShownSentence;
import java.util.Collection;
import java.util.List;
import jenkins.model.TransientActionFactory;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.stapler.HttpResponse;
import org.kohsuke.stapler.Stapler;
import org.kohsuke.stapler.StaplerRequest2;
import org.kohsuke.stapler.verb.POST;

/**
 * The stages of an agent, and what users can do to it: {@code …/preemptible/} of the agent's own address.
 *
 * <ol>
 *   <li>Made for each request by the {@link Factory}; nothing of it is saved.
 *   <li>The page lists the stages there, with the names of those builds that the looking user may see, and has the
 *       buttons that drain the agent or undo that, and evacuate it.
 *   <li>The same addresses are for programs; see {@link Answer} for what they get.
 * </ol>
 */
@Restricted(NoExternalUse.class) // for its pages only
public final class ManualAgentAction implements Action {

    private static final List<String> VERBS = List.of("drain", "undrain", "evacuate");

    private final Computer computer;

    ManualAgentAction(Computer computer) {
        this.computer = computer;
    }

    /**
     * One stage, as the page shows it.
     *
     * @param build as far as the looking user may know
     * @param href the build's page, below Jenkins' own address; null when there is none for the looking user
     */
    public record Line(
            String build, @CheckForNull String href, String stage, String state, boolean byHand, String whyNot) {}

    /** Shown where there is something to see or to do. */
    @Override
    public String getIconFileName() {
        boolean shown = getDrain() != null || isMayManage() || !stages().isEmpty();
        return shown ? "symbol-suspended plugin-preemptible" : null;
    }

    @Override
    public String getDisplayName() {
        return Messages.ManualAgentAction_DisplayName();
    }

    @Override
    public String getUrlName() {
        return "preemptible";
    }

    /** Address of the action, below Jenkins' own. */
    public String getUrl() {
        return computer.getUrl() + getUrlName() + "/";
    }

    public Computer getComputer() {
        return computer;
    }

    public boolean isMayManage() {
        return PreemptiblePermissions.mayDrain(computer);
    }

    @CheckForNull
    private DrainedAgents.Drain getDrain() {
        Node node = computer.getNode();
        return node == null ? null : DrainedAgents.get().of(node.getNodeName());
    }

    /** Who drains it since when, for people; null when nobody does. */
    @CheckForNull
    public String getDrained() {
        DrainedAgents.Drain drain = getDrain();
        if (drain == null) {
            return null;
        }
        String since = Util.getTimeSpanString(Math.max(0, System.currentTimeMillis() - drain.sinceMillis()));
        return drain.evacuated()
                ? Messages.ManualAgentAction_Evacuated(drain.by(), since)
                : Messages.ManualAgentAction_Drained(drain.by(), since);
    }

    /** Whether the page has a button for it. */
    public boolean isMayEvacuate() {
        DrainedAgents.Drain drain = getDrain();
        return isMayManage() && PreemptibleConfiguration.get().isMoveStages() && (drain == null || !drain.evacuated());
    }

    /** What the looking browser's last request was answered, once. */
    @CheckForNull
    public KeptAnswer takeAnswer() {
        return KeptAnswer.take(Stapler.getCurrentRequest2(), getUrl());
    }

    /** How stages are suspended there, in a sentence. */
    public String getHowSuspended() {
        Node node = computer.getNode();
        HowSuspended how = node == null ? null : HowSuspended.on(node.getNodeName());
        if (how == null) {
            return Messages.ManualAgentAction_Unknown();
        }
        switch (how.way()) {
            case CHECKPOINTS:
                return how.throughSudo()
                        ? Messages.ManualAgentAction_CheckpointsThroughSudo()
                        : Messages.ManualAgentAction_Checkpoints();
            case MEMORY_ONLY:
                return Messages.ManualAgentAction_MemoryOnly();
            case NOT:
                return Messages.ManualAgentAction_CannotSuspend(ShownSentence.of(how.whyNot()));
            default:
                return Messages.ManualAgentAction_Unknown();
        }
    }

    private List<StageRecord> stages() {
        Node node = computer.getNode();
        return node == null ? List.of() : AgentVerbs.stagesOn(node.getNodeName());
    }

    public RowsPart<Line> getLines() {
        return RowsPart.asked(stages()).map(ManualAgentAction::line);
    }

    private static Line line(StageRecord stage) {
        boolean shown = ShownName.readable(stage.job());
        return new Line(
                ShownName.of(stage.build(), stage.job()),
                ShownName.address(stage.job(), stage.runId()),
                shown ? stage.name() : "",
                state(stage),
                stage.byHand(),
                shown && !stage.suspended() ? ShownSentence.of(stage.whyNotSuspendable()) : null);
    }

    private static String state(StageRecord stage) {
        return switch (stage.state()) {
            case RUNNING -> Messages.ManualAgentAction_StateRunning();
            case SUSPENDING -> Messages.ManualAgentAction_StateSuspending();
            case SUSPENDED -> suspended(stage);
            case RESUMING -> Messages.ManualAgentAction_StateResuming();
            case ENDED, FAILED -> Messages.ManualAgentAction_StateEnded();
        };
    }

    /** Tells whether the stage still needs this agent: so long its host must not be restarted, or not go. */
    private static String suspended(StageRecord stage) {
        if (OutlivesAgent.isStored(stage)) {
            return Messages.ManualAgentAction_StateStored();
        }
        return stage.frozen() || stage.memoryOnly() || stage.unsealed() || stage.thawByMillis() > 0
                ? Messages.ManualAgentAction_StateFrozen()
                : Messages.ManualAgentAction_StateSealed();
    }

    /** The last hour, as far as the looking user may see the jobs; has no row when nothing is known. */
    public Timeline getTimeline() {
        Node node = computer.getNode();
        return AgentTimelines.get().of(node == null ? "" : node.getNodeName());
    }

    @POST
    public HttpResponse doDrain() {
        return Answer.toButton(getUrl(), () -> AgentVerbs.drain(computer));
    }

    @POST
    public HttpResponse doUndrain() {
        return Answer.toButton(getUrl(), () -> AgentVerbs.undrain(computer));
    }

    @POST
    public HttpResponse doEvacuate() {
        return Answer.toButton(getUrl(), () -> EvacuateVerb.evacuate(computer));
    }

    /** Any other address here, and any other method: does nothing, and says so. */
    public HttpResponse doDynamic(StaplerRequest2 request) {
        return Answer.toRequest(getUrl(), () -> Answer.toOther(request, VERBS));
    }

    /** Puts it on every agent, and on the built-in node. */
    @Extension
    public static final class Factory extends TransientActionFactory<Computer> {

        @Override
        public Class<Computer> type() {
            return Computer.class;
        }

        @Override
        public Class<? extends Action> actionType() {
            // Tells core not to ask when it looks for other actions.
            return ManualAgentAction.class;
        }

        @NonNull
        @Override
        public Collection<? extends Action> createFor(@NonNull Computer target) {
            return List.of(new ManualAgentAction(target));
        }
    }
}
