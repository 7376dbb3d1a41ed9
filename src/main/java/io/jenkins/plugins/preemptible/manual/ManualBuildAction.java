package io.jenkins.plugins.preemptible.manual;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Functions;
import hudson.Util;
import hudson.model.Action;
import hudson.model.Item;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.hand.NeverPreemptAction;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.history.BuildTimeline;
import io.jenkins.plugins.preemptible.history.PastSuspension;
import io.jenkins.plugins.preemptible.history.SuspensionHistoryAction;
import io.jenkins.plugins.preemptible.history.Timeline;
import io.jenkins.plugins.preemptible.lifecycle.ResumedFrom;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.view.ClockTime;
import io.jenkins.plugins.preemptible.view.RowsPart;
import io.jenkins.plugins.preemptible.view.RunningStagesAction;
import io.jenkins.plugins.preemptible.view.ShownSentence;
import io.jenkins.plugins.preemptible.view.SuspendedBadgeAction;
import java.text.DateFormat;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Date;
import java.util.List;
import jenkins.model.TransientActionFactory;
import org.jenkinsci.plugins.workflow.flow.FlowExecutionOwner;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.stapler.HttpResponse;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.Stapler;
import org.kohsuke.stapler.StaplerRequest2;
import org.kohsuke.stapler.WebMethod;
import org.kohsuke.stapler.verb.POST;

/**
 * What users can do to a Pipeline's build, below {@code …/preemptible/} of its own address.
 *
 * <ol>
 *   <li>Made for each request by the {@link Factory}; nothing of it is saved.
 *   <li>The build's own page has one row: the state of each stage, and a button for each thing that the looking user may
 *       do at that moment.
 *   <li>A page of its own shows each suspension, as long as the build is kept.
 *   <li>The same addresses are for programs; see {@link Answer} for what they get.
 * </ol>
 */
@Restricted(NoExternalUse.class) // for its pages only
public final class ManualBuildAction implements Action {

    private static final List<String> VERBS =
            List.of("suspend", "resume", "move", "again", "give-up", "never", "preempt-again");

    private final Run<?, ?> run;

    ManualBuildAction(Run<?, ?> run) {
        this.run = run;
    }

    /** Shown where there is a suspension to show. */
    @Override
    public String getIconFileName() {
        return getHistory() == null ? null : "symbol-suspended plugin-preemptible";
    }

    @Override
    public String getDisplayName() {
        return Messages.ManualAgentAction_DisplayName();
    }

    public Run<?, ?> getRun() {
        return run;
    }

    /** The build's suspensions; null when none of its stages was ever suspended. */
    @CheckForNull
    public SuspensionHistoryAction getHistory() {
        return SuspensionHistoryAction.of(run);
    }

    public Timeline getTimeline() {
        return BuildTimeline.of(run);
    }

    /** One suspension, as the page's table shows it. */
    public record Suspended(
            String stage,
            String agent,
            String since,
            String lasted,
            String forWhom,
            String why,
            String took,
            String image,
            String resumed) {}

    /** One of a stage. */
    private record Past(String stage, PastSuspension suspension) {}

    /** The newest suspensions of each stage, in the order in which they began. */
    public RowsPart<Suspended> getSuspensions() {
        SuspensionHistoryAction history = getHistory();
        List<Past> all = history == null
                ? List.of()
                : history.getStages().stream()
                        .flatMap(stage -> stage.getSuspensions().stream().map(one -> new Past(stage.getName(), one)))
                        .toList();
        return RowsPart.asked(all).map(past -> suspended(past.stage, past.suspension));
    }

    private static Suspended suspended(String stage, PastSuspension one) {
        long now = System.currentTimeMillis();
        String agent = one.getNode();
        return new Suspended(
                stage,
                agent == null ? "" : AgentVerbs.shown(agent),
                DateFormat.getDateTimeInstance(DateFormat.MEDIUM, DateFormat.MEDIUM)
                        .format(new Date(one.getSuspendedMillis())),
                Util.getTimeSpanString(one.withoutExecutorMillis(now)),
                one.getPreemptor() == null ? "" : one.getPreemptor(),
                one.getSentence(),
                Util.getTimeSpanString(one.getTookMillis()),
                one.getSealedMillis() == 0
                        ? Messages.ManualBuildAction_NoImage()
                        : Functions.humanReadableByteSize(one.getArchiveBytes()),
                resumed(one));
    }

    private static String resumed(PastSuspension one) {
        if (one.isOpen()) {
            return Messages.ManualBuildAction_Suspended();
        }
        if (one.getTier() == null) {
            return Messages.ManualBuildAction_Ended();
        }
        String from = ResumedFrom.of(one.getTier()).words();
        String took = Util.getTimeSpanString(one.getResumeTookMillis());
        String on = one.getResumedOn();
        return on == null || on.equals(one.getNode())
                ? Messages.ManualBuildAction_Resumed(from, took)
                : Messages.ManualBuildAction_ResumedOn(from, took, AgentVerbs.within(on));
    }

    @Override
    public String getUrlName() {
        return "preemptible";
    }

    /** Address of the action, below Jenkins' own. */
    public String getUrl() {
        return run.getUrl() + getUrlName() + "/";
    }

    /**
     * One button of the build's page.
     *
     * @param verb the last part of its address
     * @param stage id; null when it is for the whole build
     */
    public record Button(String verb, @CheckForNull String stage, String text) {}

    /** Of the row on the build's page. */
    public String getSymbol() {
        return run.getActions(SuspendedBadgeAction.class).isEmpty()
                ? "symbol-resumed plugin-preemptible"
                : "symbol-suspended plugin-preemptible";
    }

    /** Whether the build's page has anything of ours. */
    public boolean isShown() {
        return !(getSentences().isEmpty() && getButtons().isEmpty())
                || KeptAnswer.isFor(Stapler.getCurrentRequest2(), run.getUrl());
    }

    /** What the looking browser's last request was answered, once. */
    @CheckForNull
    public KeptAnswer takeAnswer() {
        return KeptAnswer.take(Stapler.getCurrentRequest2(), run.getUrl());
    }

    /** The state of each stage of which there is something to say. */
    public List<String> getSentences() {
        List<String> sentences = new ArrayList<>();
        SuspensionHistoryAction history = getHistory();
        if (history != null) {
            sentences.add(Messages.ManualBuildAction_History(
                    history.getCount(), Util.getTimeSpanString(history.getWithoutExecutorMillis())));
        }
        if (!run.isBuilding()) {
            return sentences;
        }
        List<String> states = new ArrayList<>();
        run.getActions(SuspendedBadgeAction.class).forEach(action -> states.addAll(action.getSentences()));
        run.getActions(RunningStagesAction.class).forEach(action -> states.addAll(action.getSentences()));
        states.stream().limit(RowsPart.MOST).forEach(sentences::add);
        if (isNeverPreempted()) {
            sentences.add(Messages.ManualBuildAction_NeverPreempted());
        }
        List<StageRecord> stages = StageVerbs.stagesOf(run);
        for (StageRecord stage : shown(stages)) {
            if (stage.whyNotResumed() != null) {
                sentences.add(Messages.ManualBuildAction_Failed(stage.name(), ShownSentence.of(stage.whyNotResumed())));
            }
            // Of one that is suspended already, the badge's lines on the same page tell who wants it so.
            if (stage.moveTo() != null && !stage.suspended()) {
                sentences.add(Messages.ManualBuildAction_Moves(
                        stage.name(), AgentVerbs.within(String.valueOf(stage.moveTo()))));
            } else if (stage.byHand() && !stage.suspended()) {
                sentences.add(Messages.ManualBuildAction_ByHand(stage.name()));
            } else if (stage.suspended()
                    && !stage.byHand()
                    && DrainedAgents.get().contains(stage.node())) {
                sentences.add(drained(stage));
            }
            if (stage.imagePath() != null) {
                sentences.add(Messages.ManualBuildAction_Image(
                        stage.name(), Functions.humanReadableByteSize(stage.archiveBytes()), stage.imagePath()));
            }
        }
        if (stages.size() > RowsPart.MOST) {
            sentences.add(Messages.ManualBuildAction_More(stages.size() - RowsPart.MOST));
        }
        return sentences;
    }

    private static String drained(StageRecord stage) {
        String agent = AgentVerbs.within(stage.node());
        if (!DrainedAgents.get().evacuates(stage.node()) || stage.form() != StageRecord.Form.OWN) {
            return Messages.ManualBuildAction_Drained(stage.name(), agent);
        }
        return OutlivesAgent.isStored(stage)
                ? Messages.ManualBuildAction_EvacuatedSealed(stage.name(), agent)
                : Messages.ManualBuildAction_Evacuated(stage.name(), agent);
    }

    /** Those that have sentences and buttons of their own in the row on the build's page. */
    private static List<StageRecord> shown(List<StageRecord> stages) {
        return stages.subList(0, Math.min(RowsPart.MOST, stages.size()));
    }

    private boolean isNeverPreempted() {
        return NeverPreemptAction.of(run);
    }

    /** An image that can be downloaded, at an address below Jenkins' own. */
    public record Download(String address, String text) {}

    /** The images of stages that could not be resumed. */
    public List<Download> getDownloads() {
        return shown(StageVerbs.stagesOf(run)).stream()
                .filter(stage -> stage.whyNotResumed() != null && stage.imagePath() != null)
                .map(stage -> new Download(
                        run.getUrl() + "artifact/" + stage.imagePath(),
                        Messages.ManualBuildAction_Download(stage.name())))
                .toList();
    }

    /** What the looking user may do at this moment. */
    public List<Button> getButtons() {
        if (!run.isBuilding()) {
            return List.of();
        }
        List<StageRecord> stages = shown(StageVerbs.stagesOf(run));
        List<Button> buttons = new ArrayList<>();
        if (PreemptiblePermissions.maySuspend(run)) {
            for (StageRecord stage : stages) {
                if (stage.whyNotResumed() != null) {
                    buttons.add(new Button("again", stage.id(), Messages.ManualBuildAction_Again(stage.name())));
                }
                if (stage.byHand() || stage.moveTo() != null) {
                    buttons.add(new Button("resume", stage.id(), resume(stage)));
                }
                if (stage.byHand()) {
                    continue;
                }
                if (stage.suspended()) {
                    buttons.add(new Button("suspend", stage.id(), keep(stage)));
                } else if (stage.whyNotSuspendable() == null) {
                    buttons.add(new Button("suspend", stage.id(), Messages.ManualBuildAction_Suspend(stage.name())));
                }
            }
        }
        if (run.hasPermission(Item.CANCEL)) {
            stages.stream()
                    .filter(stage -> stage.whyNotResumed() != null)
                    .forEach(stage -> buttons.add(
                            new Button("give-up", stage.id(), Messages.ManualBuildAction_GiveUp(stage.name()))));
        }
        if (PreemptiblePermissions.mayManage()) {
            if (isNeverPreempted()) {
                buttons.add(new Button("preempt-again", null, Messages.ManualBuildAction_PreemptAgain()));
            } else if (!stages.isEmpty()) {
                buttons.add(new Button("never", null, Messages.ManualBuildAction_Never()));
            }
        }
        return buttons;
    }

    /** One that runs, or waits for its turn by itself, has nothing to be resumed from but the wish. */
    private static String resume(StageRecord stage) {
        if (stage.byHand()) {
            return stage.suspended()
                    ? Messages.ManualBuildAction_Resume(stage.name())
                    : Messages.ManualBuildAction_SuspendNot(stage.name());
        }
        return Messages.ManualBuildAction_TakeBack(stage.name(), AgentVerbs.within(String.valueOf(stage.moveTo())));
    }

    private static String keep(StageRecord stage) {
        return stage.thawByMillis() > 0
                ? Messages.ManualBuildAction_KeepFrozen(stage.name(), ClockTime.of(stage.thawByMillis()))
                : Messages.ManualBuildAction_Keep(stage.name());
    }

    /** The stages that the looking user may move at this moment. */
    public List<MoveForm> getMoves() {
        return run.isBuilding() && PreemptiblePermissions.maySuspend(run)
                ? MoveForm.of(shown(StageVerbs.stagesOf(run)))
                : List.of();
    }

    /** @param stage name or id of those that are meant; null for all of the build */
    @POST
    public HttpResponse doSuspend(@CheckForNull @QueryParameter String stage) {
        return Answer.toButton(run.getUrl(), () -> StageVerbs.suspend(run, stage));
    }

    /** @param stage as above */
    @POST
    public HttpResponse doResume(@CheckForNull @QueryParameter String stage) {
        return Answer.toButton(run.getUrl(), () -> StageVerbs.resume(run, stage));
    }

    /**
     * @param stage as above
     * @param to name of the agent
     */
    @POST
    public HttpResponse doMove(@CheckForNull @QueryParameter String stage, @CheckForNull @QueryParameter String to) {
        return Answer.toButton(run.getUrl(), () -> StageVerbs.move(run, stage, to));
    }

    /** @param stage as above */
    @POST
    public HttpResponse doAgain(@CheckForNull @QueryParameter String stage) {
        return Answer.toButton(run.getUrl(), () -> StageVerbs.again(run, stage));
    }

    /** @param stage as above */
    @POST
    @WebMethod(name = "give-up")
    public HttpResponse doGiveUp(@CheckForNull @QueryParameter String stage) {
        return Answer.toButton(run.getUrl(), () -> StageVerbs.giveUp(run, stage));
    }

    @POST
    public HttpResponse doNever() {
        return Answer.toButton(run.getUrl(), () -> StageVerbs.never(run));
    }

    @POST
    @WebMethod(name = "preempt-again")
    public HttpResponse doPreemptAgain() {
        return Answer.toButton(run.getUrl(), () -> StageVerbs.preemptAgain(run));
    }

    /** Any other address here, and any other method: does nothing, and says so. */
    public HttpResponse doDynamic(StaplerRequest2 request) {
        return Answer.toRequest(run.getUrl(), () -> Answer.toOther(request, VERBS));
    }

    /** Puts it on every Pipeline's build: others have no stages. */
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
            return ManualBuildAction.class;
        }

        @NonNull
        @Override
        public Collection<? extends Action> createFor(@NonNull Run target) {
            return target instanceof FlowExecutionOwner.Executable
                    ? List.of(new ManualBuildAction((Run<?, ?>) target))
                    : List.of();
        }
    }
}
