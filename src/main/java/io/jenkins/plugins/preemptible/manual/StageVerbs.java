package io.jenkins.plugins.preemptible.manual;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Item;
import hudson.model.Node;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.hand.NeverPreemptAction;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.lifecycle.FailedResume;
import io.jenkins.plugins.preemptible.lifecycle.RemovedAgent;
import io.jenkins.plugins.preemptible.lifecycle.agents.FrozenOnly;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StageMarks;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsOnAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.CurrentObstacle;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.manual.Answer.OfStage;
import io.jenkins.plugins.preemptible.move.MoveTargets;
import io.jenkins.plugins.preemptible.queue.Preemption;
import io.jenkins.plugins.preemptible.view.ClockTime;
import io.jenkins.plugins.preemptible.view.ShownSentence;
import jakarta.servlet.http.HttpServletResponse;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Comparator;
import java.util.List;
import java.util.function.Function;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;

/**
 * What users can do to a build's stages.
 *
 * <ol>
 *   <li>Checks the permission before anything else.
 *   <li>Notes in the stage's record, or with the build, what is wanted; that outlives the controller.
 *   <li>Asks for a look at the queue, which makes it so. None of this waits for an agent; a move waits for the Pipeline to say
 *       what it keeps.
 * </ol>
 *
 * <p>Each throws {@link hudson.security.AccessDeniedException3} when the current user may not do that, and {@link
 * UncheckedIOException} when it cannot be saved; nothing has changed then. From any thread, under no lock.
 */
public final class StageVerbs {

    private static final Logger LOGGER = Logger.getLogger(StageVerbs.class.getName());

    private StageVerbs() {}

    /**
     * Suspends stages until someone resumes them.
     *
     * @param stage name or id of those that are meant; null for all of the build
     */
    public static Answer suspend(Run<?, ?> run, @CheckForNull String stage) {
        PreemptiblePermissions.checkSuspend(run);
        return each(run, stage, StageVerbs::suspend);
    }

    /**
     * Resumes stages that were suspended manually, and takes manual moves back; of a stage that is named, also a move that nobody
     * has asked for.
     */
    public static Answer resume(Run<?, ?> run, @CheckForNull String stage) {
        PreemptiblePermissions.checkSuspend(run);
        return each(run, stage, one -> ResumeVerb.resume(one, stage != null));
    }

    /** Tries once more to resume stages whose resume failed as often as it is tried. */
    public static Answer again(Run<?, ?> run, @CheckForNull String stage) {
        PreemptiblePermissions.checkSuspend(run);
        return each(run, stage, StageVerbs::again);
    }

    /**
     * Resumes stages on another agent as soon as it has an idle executor; what was suspended manually, too. What runs is
     * suspended and sealed before.
     *
     * @param agent its name, {@code (built-in)} for the built-in node
     */
    public static Answer move(Run<?, ?> run, @CheckForNull String stage, @CheckForNull String agent) {
        PreemptiblePermissions.checkSuspend(run);
        Jenkins jenkins = Jenkins.get();
        Node to =
                agent == null || agent.isBlank() ? null : agent.equals("(built-in)") ? jenkins : jenkins.getNode(agent);
        if (to == null) {
            return agent == null || agent.isBlank()
                    ? Answer.refused(HttpServletResponse.SC_BAD_REQUEST, Messages.StageVerbs_NoAgentNamed())
                    : Answer.refused(
                            HttpServletResponse.SC_NOT_FOUND, Messages.StageVerbs_NoSuchAgent(Answer.echoed(agent)));
        }
        return each(run, stage, one -> move(one, to));
    }

    /** Fails such stages; their images are kept. */
    public static Answer giveUp(Run<?, ?> run, @CheckForNull String stage) {
        run.checkPermission(Item.CANCEL);
        return each(run, stage, StageVerbs::giveUp);
    }

    /** Exempts a build that runs from being suspended for others. */
    public static Answer never(Run<?, ?> run) {
        PreemptiblePermissions.checkManage();
        String build = run.getFullDisplayName();
        if (!run.isBuilding()) {
            return Answer.refused(HttpServletResponse.SC_CONFLICT, Messages.StageVerbs_BuildEnded(build));
        }
        if (!NeverPreemptAction.of(run)) {
            run.addAction(new NeverPreemptAction(user(), System.currentTimeMillis()));
            save(run);
        }
        return Answer.done(Messages.StageVerbs_Never(build));
    }

    /** Undoes {@link #never}. */
    public static Answer preemptAgain(Run<?, ?> run) {
        PreemptiblePermissions.checkManage();
        String build = run.getFullDisplayName();
        if (!NeverPreemptAction.of(run)) {
            return Answer.refused(HttpServletResponse.SC_CONFLICT, Messages.StageVerbs_NotExempt(build));
        }
        run.removeActions(NeverPreemptAction.class);
        save(run);
        Preemption.soon(0);
        return Answer.done(Messages.StageVerbs_PreemptAgain(build));
    }

    /** The stages of a build that have begun and not ended, in the order in which they began. */
    static List<StageRecord> stagesOf(Run<?, ?> run) {
        String id = run.getExternalizableId();
        return StageRegistry.get().all().stream()
                .filter(stage -> stage.runId().equals(id))
                .sorted(Comparator.comparingLong(StageRecord::startedMillis).thenComparing(StageRecord::id))
                .toList();
    }

    static String user() {
        return Jenkins.getAuthentication2().getName();
    }

    private static Answer each(Run<?, ?> run, @CheckForNull String wanted, Function<StageRecord, OfStage> verb) {
        if (wanted != null && wanted.isBlank()) {
            return Answer.refused(HttpServletResponse.SC_BAD_REQUEST, Messages.StageVerbs_EmptyName());
        }
        List<StageRecord> stages = stagesOf(run);
        if (stages.isEmpty()) {
            return Answer.refused(
                    HttpServletResponse.SC_CONFLICT, Messages.StageVerbs_NoStages(run.getFullDisplayName()));
        }
        List<StageRecord> meant = stages.stream()
                .filter(stage -> wanted == null
                        || stage.id().equals(wanted)
                        || stage.name().equals(wanted))
                .toList();
        if (meant.isEmpty()) {
            List<String> known = stages.stream().map(StageRecord::name).toList();
            return Answer.refused(
                    HttpServletResponse.SC_NOT_FOUND,
                    Messages.StageVerbs_NoSuchStage(
                            run.getFullDisplayName(), Answer.echoed(wanted), String.join(", ", known)));
        }
        Answer answer = Answer.of(meant.stream().map(verb).toList());
        Preemption.soon(0);
        return answer;
    }

    private static OfStage suspend(StageRecord stage) {
        LiveStage live = LiveStage.find(stage.id());
        if (live == null || live.ending() || live.aborting()) {
            return refused(stage, Messages.StageVerbs_Ending(stage.name()));
        }
        boolean suspended = stage.suspended();
        String why = whyNotSuspended(stage);
        if (why != null) {
            return refused(stage, why);
        }
        boolean frozenOnly = suspended ? stage.thawByMillis() > 0 : stage.canOnlyBeFrozen();
        if (!stage.byHand()) {
            if (StageRegistry.get().update(stage.id(), s -> s.byHand(user())) == null) {
                return refused(stage, Messages.StageVerbs_Ending(stage.name()));
            }
            live.tryAtOnce();
            StageLog.line(
                    live.context(),
                    frozenOnly
                            ? Messages.StageVerbs_LogFreeze(user(), StageLog.time(FrozenOnly.longestMillis()))
                            : Messages.StageVerbs_LogSuspend(user()));
            StageMarks.byHandChanged(live);
        } else if (!suspended) {
            live.tryAtOnce();
        }
        if (frozenOnly) {
            return done(
                    stage,
                    suspended
                            ? Messages.StageVerbs_StaysFrozen(stage.name(), ClockTime.of(stage.thawByMillis()))
                            : Messages.StageVerbs_Freezes(
                                    stage.name(), StageLog.time(FrozenOnly.longestMillis()), stage.tie()));
        }
        if (suspended) {
            return done(stage, Messages.StageVerbs_Stays(stage.name()));
        }
        String obstacle = CurrentObstacle.now(stage);
        return done(
                stage,
                obstacle == null
                        ? Messages.StageVerbs_Suspends(stage.name())
                        : Messages.StageVerbs_NotYet(stage.name(), ShownSentence.of(obstacle)));
    }

    /** Why a stage that runs is not suspended, and one that is suspended not kept so, for people; null when it is. */
    @CheckForNull
    private static String whyNotSuspended(StageRecord stage) {
        if (!PreemptibleConfiguration.get().isEnabled()) {
            return Messages.StageVerbs_SwitchedOff(stage.name());
        }
        if (stage.suspended()) {
            return null;
        }
        if (RemovedAgent.isGone(stage)) {
            return Messages.StageVerbs_AgentGone(stage.name(), stage.node());
        }
        String why = stage.whyNotSuspendable();
        return why == null ? null : Messages.StageVerbs_NotSuspendable(stage.name(), why);
    }

    private static OfStage again(StageRecord stage) {
        LiveStage live = LiveStage.find(stage.id());
        if (live == null || !FailedResume.again(stage.id())) {
            return refused(stage, Messages.StageVerbs_NotFailed(stage.name()));
        }
        StageLog.line(live.context(), Messages.StageVerbs_LogAgain(user()));
        return done(stage, Messages.StageVerbs_Again(stage.name()));
    }

    private static OfStage move(StageRecord stage, Node to) {
        LiveStage live = LiveStage.find(stage.id());
        if (live == null || live.ending() || live.aborting()) {
            return refused(stage, Messages.StageVerbs_Ending(stage.name()));
        }
        String agent = AgentVerbs.within(to.getNodeName());
        if (isOnItsWay(stage, live, to)) {
            return done(stage, onceSealed(stage, agent));
        }
        String why = whyNotMoved(stage, live, to);
        if (why != null) {
            return refused(stage, why);
        }
        boolean runs = stage.state() == StageState.RUNNING;
        MoveTargets.tryAgain(stage, to);
        if (StageRegistry.get().update(stage.id(), StageChanges.moveTo(to.getNodeName())) == null) {
            return refused(stage, Messages.StageVerbs_Ending(stage.name()));
        }
        if (!runs) {
            StageLog.line(live.context(), Messages.StageVerbs_LogMove(user(), agent));
            return done(stage, Messages.StageVerbs_Moves(stage.name(), agent));
        }
        live.tryAtOnce();
        StageLog.line(live.context(), Messages.StageVerbs_LogMoveRunning(user(), agent));
        return done(stage, onceSealed(stage, agent));
    }

    private static String onceSealed(StageRecord stage, String agent) {
        String obstacle = CurrentObstacle.now(stage);
        return obstacle == null
                ? Messages.StageVerbs_MovesOnceSealed(stage.name(), agent)
                : Messages.StageVerbs_MovesNotYet(stage.name(), agent, ShownSentence.of(obstacle));
    }

    /** That was asked for before, and its image is not sealed yet. */
    private static boolean isOnItsWay(StageRecord stage, LiveStage live, Node to) {
        Misfit obstacle = to.getNodeName().equals(stage.moveTo()) ? MoveTargets.obstacle(stage, live, to) : null;
        return obstacle != null && obstacle.obstacle() == MoveObstacle.NOT_SEALED;
    }

    /** Why a stage cannot go there now, or once it is suspended and sealed, for people; null when it can. */
    @CheckForNull
    private static String whyNotMoved(StageRecord stage, LiveStage live, Node to) {
        if (stage.suspended() && stage.thawByMillis() > 0) {
            return onlyFrozen(stage);
        }
        String agent = AgentVerbs.within(to.getNodeName());
        Misfit obstacle = MoveForm.obstacle(stage, live, to);
        if (obstacle != null) {
            return Messages.StageVerbs_NotMoved(stage.name(), agent, obstacle.sentence());
        }
        if (DrainedAgents.get().contains(to.getNodeName())) {
            return Messages.StageVerbs_NotMoved(stage.name(), agent, Messages.StageVerbs_Drained());
        }
        if (stage.state() == StageState.RUNNING) {
            String why = whyNotSealed(stage);
            if (why != null) {
                return why;
            }
        }
        Misfit ofSteps = ofSteps(live);
        return ofSteps == null ? null : Messages.StageVerbs_NotMoved(stage.name(), agent, ofSteps.sentence());
    }

    /** Why a stage that runs is not suspended, or no image of it made, for people; null when both are done. */
    @CheckForNull
    static String whyNotSealed(StageRecord stage) {
        String why = whyNotSuspended(stage);
        return why == null && stage.canOnlyBeFrozen() ? onlyFrozen(stage) : why;
    }

    private static String onlyFrozen(StageRecord stage) {
        String tie = stage.tie();
        return Messages.StageVerbs_OnlyFrozen(stage.name(), tie == null ? "" : tie)
                .trim();
    }

    /** Where the Pipeline does not answer, that is asked again before anything goes to the agent. */
    @CheckForNull
    private static Misfit ofSteps(LiveStage live) {
        try {
            return StepsOnAgent.obstacle(live);
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "not known yet whether the steps of stage " + live.id() + " can move");
            return null;
        } catch (InterruptedException x) {
            Thread.currentThread().interrupt();
            return null;
        }
    }

    private static OfStage giveUp(StageRecord stage) {
        LiveStage live = LiveStage.find(stage.id());
        if (live == null || stage.whyNotResumed() == null) {
            return refused(stage, Messages.StageVerbs_NotFailed(stage.name()));
        }
        StageLog.line(live.context(), Messages.StageVerbs_LogGiveUp(user()));
        return FailedResume.giveUp(stage.id())
                ? done(stage, Messages.StageVerbs_GivesUp(stage.name()))
                : refused(stage, Messages.StageVerbs_NotFailed(stage.name()));
    }

    static OfStage done(StageRecord stage, String message) {
        return new OfStage(stage.id(), stage.name(), true, message);
    }

    static OfStage refused(StageRecord stage, String message) {
        return new OfStage(stage.id(), stage.name(), false, message);
    }

    private static void save(Run<?, ?> run) {
        try {
            run.save();
        } catch (IOException x) {
            throw new UncheckedIOException("cannot save " + run + "; is the controller's disk full?", x);
        }
    }
}
