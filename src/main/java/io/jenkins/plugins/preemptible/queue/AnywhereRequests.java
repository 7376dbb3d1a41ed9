package io.jenkins.plugins.preemptible.queue;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Util;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.slaves.AbstractCloudSlave;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.lost.LostAgents;
import io.jenkins.plugins.preemptible.move.MoveTargets;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;

/**
 * Puts stages that have lost their agents into the queue, for any agent that fits.
 *
 * <ol>
 *   <li>The item has the stage's label, so that a cloud which has such agents starts one.
 *   <li>A cloud may have agents that never fit: after {@value #MOST_MISFITS} of them the item is taken back. The stage then
 *       waits for an agent that fits without asking for one. After {@value #MOST_FAILURES} on which an attempt has come to
 *       nothing for another reason, such as an archive that is away, it is asked again after pauses that grow.
 *   <li>The build's log says each of this once a suspension, and why the agents that are there do not fit, up to
 *       {@value #MOST_TOLD} of them.
 * </ol>
 *
 * For the one thread that evaluates the queue. In memory: after a restart of the controller all is counted anew.
 */
final class AnywhereRequests {

    private static final Logger LOGGER = Logger.getLogger(AnywhereRequests.class.getName());

    static final int MOST_MISFITS = 3;
    static final int MOST_FAILURES = 3;
    static final int MOST_TOLD = 5;
    /** The first pause; each one is twice the last, up to an hour. */
    private static final long PAUSE_MILLIS = TimeUnit.MINUTES.toMillis(1);

    private static final int MOST_DOUBLINGS = 6;
    private static final long LONGEST_PAUSE_MILLIS = TimeUnit.HOURS.toMillis(1);

    /** What is known of lost stages, by their ids. */
    private static final Map<String, Lost> LOST = new HashMap<>();

    /** Stages in one suspension each of which the log says that they wait for an answer. */
    private static final Set<String> UNANSWERED = new HashSet<>();

    private AnywhereRequests() {}

    /** One stage in one suspension. */
    private static final class Lost {
        private final int suspension;
        /** Why each agent of a cloud did not fit, by its name. */
        private final Map<String, String> misfits = new TreeMap<>();
        /** Names of agents of no cloud of which the log has said why they do not fit. */
        private final Set<String> told = new HashSet<>();
        /** Names of agents of a cloud on which an attempt came to nothing for another reason. */
        private final Set<String> failed = new HashSet<>();
        /** How many of them have counted: those that fail while none is asked for do not. */
        private int failures;
        /** Until when none is asked for; null for no such moment. */
        @CheckForNull
        private Long pausedUntilNanos;

        private boolean givenUp;

        Lost(int suspension) {
            this.suspension = suspension;
        }

        /** Sentences, with a blank behind. */
        String why() {
            StringBuilder line = new StringBuilder("No agent of a cloud fits this stage: ");
            misfits.forEach(
                    (agent, why) -> line.append(agent).append(": ").append(why).append(' '));
            return line.toString();
        }

        /**
         * Notes whether an attempt on that agent has come to nothing, which is no reason to ask for none any more.
         *
         * @return the pause that begins now; 0 = none
         */
        long failed(String agent, boolean now) {
            if (!now) {
                failed.remove(agent);
                return 0;
            }
            if (!failed.add(agent) || givenUp || isPaused() || ++failures < MOST_FAILURES) {
                return 0;
            }
            long pause =
                    Math.min(PAUSE_MILLIS << Math.min(failures - MOST_FAILURES, MOST_DOUBLINGS), LONGEST_PAUSE_MILLIS);
            pausedUntilNanos = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(pause);
            return pause;
        }

        boolean isPaused() {
            return pausedUntilNanos != null && System.nanoTime() - pausedUntilNanos < 0;
        }
    }

    /** Asks for those that are not in the queue, and looks at what clouds have brought. */
    static void ask() {
        LOST.keySet().removeIf(id -> StageRegistry.get().find(id) == null);
        UNANSWERED.removeIf(id -> StageRegistry.get().find(id.substring(0, id.indexOf('/'))) == null);
        for (StageRecord stage : StageRegistry.get().all()) {
            LiveStage live = LiveStage.find(stage.id());
            if (live == null || live.ending() || live.aborting()) {
                continue;
            }
            if (!LostAgents.isLost(stage)) {
                unanswered(stage, live);
                continue;
            }
            Lost lost = LOST.get(stage.id());
            if (lost == null || lost.suspension != stage.suspensions()) {
                lost = new Lost(stage.suspensions());
                LOST.put(stage.id(), lost);
                begins(stage, live);
            }
            count(stage, live, lost);
            if (!lost.givenUp && !lost.isPaused() && isDue(stage, live)) {
                request(stage.id());
            }
        }
    }

    /** It waits for its agent, or the one that was asked last, though what is sealed might be enough. */
    private static void unanswered(StageRecord stage, LiveStage live) {
        boolean elsewhere = OutlivesAgent.isAwaited(stage);
        String agent = elsewhere ? stage.restoringOn() : stage.node();
        if (stage.state() == StageState.SUSPENDED
                && (elsewhere || OutlivesAgent.isStored(stage) && !OutlivesAgent.isTreeEnded(stage))
                && LostAgents.awayMillis(agent) >= LostAgents.patienceMillis()
                && UNANSWERED.add(stage.id() + "/" + stage.suspensions())) {
            say(
                    live,
                    "The agent '" + agent + "' has been away for "
                            + Util.getTimeSpanString(LostAgents.awayMillis(agent))
                            + ". It was asked to resume this stage and has not answered, so the stage may run there: it"
                            + " waits for that agent. Remove the agent from Jenkins to have it resumed on another one.");
        }
    }

    private static void begins(StageRecord stage, LiveStage live) {
        long awayMillis = LostAgents.awayMillis(stage.node());
        String since = awayMillis > 0
                ? "away for " + Util.getTimeSpanString(awayMillis)
                : "marked offline for " + Util.getTimeSpanString(LostAgents.offlineMillis(stage.node()));
        // Of one that went back to its checkpoint the log has said that.
        if (Jenkins.get().getComputer(stage.node()) != null
                && !stage.rolledBack()
                && !DrainedAgents.get().evacuates(stage.node())) {
            say(
                    live,
                    "The agent '" + stage.node() + "' has been " + since
                            + ". This stage is resumed on another agent that fits, from its sealed image and workspace.");
        }
    }

    private static void say(LiveStage live, String line) {
        StageThreads.tell("telling of stage " + live.id(), () -> StageLog.line(live.context(), line));
    }

    private static void count(StageRecord stage, LiveStage live, Lost lost) {
        for (Computer computer : Jenkins.get().getComputers()) {
            Node node = computer.getNode();
            if (node instanceof AbstractCloudSlave) {
                pause(stage, live, lost, lost.failed(node.getNodeName(), MoveTargets.hasFailed(stage, node)));
            }
            if (node instanceof AbstractCloudSlave && !lost.misfits.containsKey(node.getNodeName())) {
                Misfit misfit = MoveTargets.lasting(stage, live, node);
                if (misfit != null && live.hold().mayMoveTo(node)) {
                    lost.misfits.put(node.getNodeName(), misfit.sentence());
                }
            }
            if (node != null && !(node instanceof AbstractCloudSlave) && lost.told.size() < MOST_TOLD) {
                tell(stage, live, lost, node);
            }
        }
        if (!lost.givenUp && lost.misfits.size() >= MOST_MISFITS) {
            lost.givenUp = true;
            withdraw(stage, live);
            say(
                    live,
                    lost.why() + "No more are asked for; the stage stays suspended until an agent that fits is there.");
        }
    }

    private static void tell(StageRecord stage, LiveStage live, Lost lost, Node agent) {
        Misfit misfit = MoveTargets.lasting(stage, live, agent);
        // Of a trial that failed the log has said that.
        if (misfit != null
                && misfit.obstacle() != MoveObstacle.REFUSED_THERE
                && live.hold().mayMoveTo(agent)
                && lost.told.add(agent.getNodeName())) {
            say(live, "Not resumed on " + agent.getDisplayName() + ": " + misfit.sentence());
        }
    }

    private static void pause(StageRecord stage, LiveStage live, Lost lost, long pauseMillis) {
        if (pauseMillis == 0) {
            return;
        }
        withdraw(stage, live);
        LOGGER.log(Level.INFO, "no agent of a cloud is asked for {0} for {1}", new Object[] {
            stage, StageLog.time(pauseMillis)
        });
        if (lost.failures == MOST_FAILURES) {
            say(
                    live,
                    "Attempts to resume this stage on agents of a cloud have come to nothing; the controller's log says why. Others are"
                            + " asked for after pauses that grow from a minute to an hour.");
        }
    }

    private static void withdraw(StageRecord stage, LiveStage live) {
        if (live.hold().requestedAnywhere()) {
            live.hold().withdraw(stage);
        }
    }

    private static boolean isDue(StageRecord stage, LiveStage live) {
        return stage.state() == StageState.SUSPENDED
                && stage.moveTo() == null
                && !isHeld(stage)
                && stage.mayBeTried()
                && !live.busy()
                && !live.hold().requested(stage)
                && live.hold().executor(stage) == null;
    }

    private static void request(String id) {
        StageThreads.enqueue("queueing stage " + id + " for any agent", () -> {
            StageRecord stage = StageRegistry.get().find(id);
            LiveStage live = LiveStage.find(id);
            if (stage != null && live != null && LostAgents.isLost(stage) && isDue(stage, live)) {
                live.hold().requestAnywhere(stage);
            }
        });
    }

    /** Whether the stage waits in the queue for any agent, or has one and is not yet taken up. */
    static boolean isAsked(StageRecord stage, LiveStage live) {
        return LostAgents.isLost(stage)
                && (live.hold().requestedAnywhere() && live.hold().requested(stage)
                        || live.hold().executor(stage) != null);
    }

    /** Whether a request for any agent is not wanted now. */
    static boolean isHeld(StageRecord stage) {
        return stage.heldByHand(System.currentTimeMillis())
                && PreemptibleConfiguration.get().isEnabled();
    }

    /** Whether a request for one agent is of no use, since that agent is away and the stage need not wait for it. */
    static boolean isInVain(StageRecord stage, LiveStage live) {
        String agent = live.hold().requestedOn(stage);
        if (Jenkins.get().isQuietingDown()) {
            // When the controller is back its agents come later than its queue.
            return false;
        }
        if (agent.equals(stage.node())) {
            return LostAgents.isLost(stage);
        }
        Computer computer = Jenkins.get().getComputer(agent);
        return OutlivesAgent.isStored(stage) && (computer == null || computer.isOffline());
    }
}
