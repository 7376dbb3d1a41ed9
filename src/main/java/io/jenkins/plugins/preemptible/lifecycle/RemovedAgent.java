package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.Util;
import hudson.model.Node;
import hudson.model.PeriodicWork;
import hudson.model.Result;
import hudson.slaves.AbstractCloudSlave;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.SuspendedSteps;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.view.Messages;
import java.io.IOException;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.stream.Collectors;
import jenkins.model.CauseOfInterruption;
import jenkins.model.Jenkins;
import jenkins.model.NodeListener;
import org.jenkinsci.plugins.workflow.steps.BodyExecution;
import org.jenkinsci.plugins.workflow.steps.FlowInterruptedException;

/**
 * Ends suspended stages whose agent was removed.
 *
 * <ol>
 *   <li>Pipeline's own listener walks executors, and a suspended stage has none.
 *   <li>After as long as Pipeline waits, five minutes, an agent that has not come back is taken for gone; an agent of a
 *       cloud, which never comes back, at once, as Pipeline does. The build log and its page say until when.
 *   <li>A running stage's build is told that its processes run on, as under {@code node}.
 *   <li>The stage's body is cancelled with that reason; the image goes with it, since nobody else has its key.
 *   <li>The same for an agent that is not there any more after a restart of the controller; the time begins then.
 *   <li>A stage whose image and workspace are sealed does not end: it is resumed on another agent that fits. Nor does one
 *       that can go back to an earlier state; a frozen one does so at once, see {@link Rollback}.
 * </ol>
 */
@Extension
public final class RemovedAgent extends NodeListener {

    private static final Logger LOGGER = Logger.getLogger(RemovedAgent.class.getName());
    private static final long AGAIN_MILLIS = TimeUnit.SECONDS.toMillis(5);

    /** Until when each removed agent is waited for, in milliseconds since 1970, by its name. */
    private static final Map<String, Long> WAITED_FOR = new ConcurrentHashMap<>();

    /** Suspended stages, each with its removed agent, whose build logs say so; see {@link #key}. */
    private static final Set<String> TOLD = ConcurrentHashMap.newKeySet();

    /** How long a stage waits for a removed agent to be added again, in milliseconds. */
    public static long graceMillis() {
        return Long.getLong(RemovedAgent.class.getName() + ".graceMillis", TimeUnit.MINUTES.toMillis(5));
    }

    /** Whether the stage's agent is unknown to Jenkins. */
    public static boolean isGone(@NonNull StageRecord stage) {
        return Nodes.named(stage.node()) == null;
    }

    /** Whether it is suspended and ends, since its agent was removed and is not added again in time. */
    public static boolean ends(@NonNull StageRecord stage) {
        return stage.state() == StageState.SUSPENDED && isGone(stage) && !outlivesIt(stage);
    }

    private static boolean outlivesIt(StageRecord stage) {
        return OutlivesAgent.isStored(stage) || Rollback.isPossible(stage);
    }

    /**
     * Until when a stage waits for its agent, which was removed, in milliseconds since 1970; 0 when it was not removed, or
     * before the controller's last restart.
     */
    public static long waitsUntilMillis(@NonNull StageRecord stage) {
        return isGone(stage) && !outlivesIt(stage) ? WAITED_FOR.getOrDefault(stage.node(), 0L) : 0;
    }

    @Override
    protected void onCreated(@NonNull Node node) {
        WAITED_FOR.remove(node.getNodeName());
    }

    @Override
    protected void onDeleted(@NonNull Node node) {
        String name = node.getNodeName();
        // Jenkins has closed the connection before anybody is told. The host of a cloud's agent goes with it.
        StageRegistry.get().all().stream()
                .filter(stage -> !stage.suspended()
                        && !stage.onCloud()
                        && !stage.hasCheckpoint()
                        && stage.node().equals(name))
                .forEach(stage -> tell(
                        stage,
                        "The agent '" + name + "' was removed from Jenkins. The processes of this stage"
                                + " keep running on its host, where Jenkins cannot reach them. They are ended when an agent with the"
                                + " same root folder connects after this build has ended."));
        waitFor(name, suspendedOn(name), node instanceof AbstractCloudSlave ? 0 : graceMillis());
    }

    /** @param stages suspended on an agent that Jenkins does not know any more */
    private static void waitFor(String name, List<StageRecord> stages, long graceMillis) {
        // Others are told when their builds are loaded.
        stages.stream().filter(stage -> LiveStage.find(stage.id()) != null).forEach(stage -> TOLD.add(key(stage)));
        stages.stream().filter(OutlivesAgent::isStored).forEach(stage -> {
            SuspendedSteps.waitForAgent(stage);
            tell(stage, "The agent '" + name + "' was removed from Jenkins. " + goesOn(stage));
        });
        List<StageRecord> suspended =
                stages.stream().filter(stage -> !OutlivesAgent.isStored(stage)).toList();
        if (suspended.isEmpty()) {
            return;
        }
        long untilMillis = System.currentTimeMillis() + graceMillis;
        if (graceMillis > 0) {
            WAITED_FOR.put(name, untilMillis);
        }
        for (StageRecord stage : suspended) {
            // Its steps, which may have missed the agent for a while, must not end before this does.
            SuspendedSteps.waitForAgent(stage);
            boolean goesBack = Rollback.isPossible(stage);
            if (graceMillis > 0 && !(goesBack && stage.frozen())) {
                tell(
                        stage,
                        "The agent '" + name + "' was removed from Jenkins. This stage "
                                + (goesBack ? "goes back to its checkpoint in " : "ends in ")
                                + Util.getTimeSpanString(graceMillis)
                                + ", unless an agent of that name is added before.");
            }
        }
        StageThreads.schedule("looking for agent " + name, graceMillis, () -> {
            // Added and removed again meanwhile, it is waited for anew.
            boolean over = graceMillis <= 0 || WAITED_FOR.remove(name, untilMillis);
            if (over && Jenkins.get().getNode(name) == null) {
                suspendedOn(name).stream()
                        .filter(stage -> !OutlivesAgent.isStored(stage))
                        .forEach(RemovedAgent::over);
            }
        });
    }

    /** Another one when moves are allowed or forbidden meanwhile, for what becomes of a stored stage then is something else. */
    private static String key(StageRecord stage) {
        return stage.id() + "/" + stage.node() + (OutlivesAgent.isStored(stage) ? "/stored" : "");
    }

    /**
     * Finds stages whose agents are gone, and whose build logs do not say so: after a restart of the controller Configuration as
     * Code, or a cloud, does not have them any more. Their builds are loaded after that.
     */
    @Extension
    public static final class Untold extends PeriodicWork {
        @Override
        public long getRecurrencePeriod() {
            return AGAIN_MILLIS;
        }

        @Override
        protected void doRun() {
            Collection<StageRecord> all = StageRegistry.get().all();
            Set<String> gone = all.stream()
                    .filter(RemovedAgent::isGone)
                    .map(RemovedAgent::key)
                    .collect(Collectors.toSet());
            TOLD.retainAll(gone);
            all.stream()
                    .filter(stage -> isUntold(stage) && !TOLD.contains(key(stage)))
                    .collect(Collectors.groupingBy(StageRecord::node))
                    .forEach((name, stages) -> waitFor(name, stages, leftMillis(name)));
        }

        /** They may be known to be gone for a while. */
        private static long leftMillis(String name) {
            long leftMillis = WAITED_FOR.getOrDefault(name, 0L) - System.currentTimeMillis();
            return leftMillis > 0 ? leftMillis : graceMillis();
        }

        /** Of one that went back to its checkpoint the log has said that. */
        private static boolean isUntold(StageRecord stage) {
            LiveStage live = LiveStage.find(stage.id());
            return stage.suspended()
                    && isGone(stage)
                    && !stage.rolledBack()
                    && live != null
                    && live.body() != null
                    && !live.ending()
                    && !live.aborting();
        }
    }

    private static void over(StageRecord stage) {
        StageThreads.submit("taking back or ending " + stage, () -> goBackOrEnd(stage.id()));
    }

    private static void goBackOrEnd(String id) throws InterruptedException {
        LiveStage live = LiveStage.find(id);
        if (live == null) {
            return;
        }
        // It may just be restored on another agent, which has all of it by then.
        live.operation().lockInterruptibly();
        try {
            StageRecord stage = StageRegistry.get().find(id);
            boolean needsAgent = stage != null && stage.suspended() && isGone(stage) && !OutlivesAgent.isStored(stage);
            if (needsAgent && OutlivesAgent.isAwaited(stage)) {
                // It may run on the agent that was asked to restore it, and needs this one only if it does not.
                StageThreads.schedule("taking back or ending stage " + id, AGAIN_MILLIS, () -> goBackOrEnd(id));
            } else if (needsAgent && !Rollback.of(live, Rollback.Loss.OUT_OF_REACH)) {
                end(stage);
            }
        } catch (IOException x) {
            LOGGER.log(Level.FINE, x, () -> "the steps of stage " + id + " are not known yet");
            StageThreads.schedule("taking back or ending stage " + id, AGAIN_MILLIS, () -> goBackOrEnd(id));
        } finally {
            live.operation().unlock();
        }
    }

    private static String goesOn(StageRecord stage) {
        return "This stage is resumed on another agent that fits, from its sealed image and workspace."
                + (OutlivesAgent.isTreeEnded(stage)
                        ? ""
                        : " It may still run on the host of that agent, which was asked to resume it and has not answered; it is"
                                + " ended there when an agent with the same root folder connects.");
    }

    private static void tell(StageRecord stage, String line) {
        LiveStage live = LiveStage.find(stage.id());
        if (live != null) {
            StageThreads.soon("telling of agent " + stage.node(), () -> StageLog.line(live.context(), line));
        }
    }

    private static List<StageRecord> suspendedOn(String node) {
        return StageRegistry.get().all().stream()
                .filter(stage -> stage.suspended() && stage.node().equals(node))
                .toList();
    }

    private static void end(StageRecord stage) {
        LiveStage live = LiveStage.find(stage.id());
        BodyExecution body = live == null ? null : live.body();
        if (body != null) {
            live.markAborting();
            body.cancel(new FlowInterruptedException(Result.ABORTED, false, new AgentRemoved(stage.node())));
        }
    }

    /** Why a stage whose agent was removed ended. */
    public static final class AgentRemoved extends CauseOfInterruption {
        private static final long serialVersionUID = 1L;
        private final String node;

        AgentRemoved(String node) {
            this.node = node;
        }

        @Override
        public String getShortDescription() {
            return Messages.RemovedAgent_Removed(node);
        }
    }
}
