package io.jenkins.plugins.preemptible.lifecycle.agents;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Node;
import hudson.model.PeriodicWork;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsInFlight;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageContainers;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Finds running stages that can never be suspended as they are, so that nobody counts on them.
 *
 * <ol>
 *   <li>Asks the agent soon after each start of a step, and every {@value #PERIOD_SECONDS} s; the stage runs on untouched.
 *   <li>Something that stays as long as its process, such as a tracer, or a lock that it took on its executor, is noted
 *       with the stage: it is chosen for nobody until that is gone. The build log says it once.
 *   <li>Something that passes, such as a connection, is left to the freeze, which refuses it if it is still there then.
 * </ol>
 */
@Extension
public final class Preflights extends PeriodicWork {

    private static final Logger LOGGER = Logger.getLogger(Preflights.class.getName());
    private static final long PERIOD_SECONDS = 10;
    /** A step's program is there after the first; what it sets up, after the second. */
    private static final long[] AFTER_START_MILLIS = {1_000, 4_000};

    /** Stages whose agents have not answered yet: they are not asked again meanwhile. */
    private static final Set<String> ASKED = ConcurrentHashMap.newKeySet();

    /** A step is being started in the stage. Returns at once. */
    public static void afterStart(String stageId) {
        for (long delayMillis : AFTER_START_MILLIS) {
            StageThreads.askFor(
                    StageThreads.agentOf(stageId), "looking at stage " + stageId, delayMillis, () -> look(stageId));
        }
    }

    @Override
    public long getRecurrencePeriod() {
        return TimeUnit.SECONDS.toMillis(PERIOD_SECONDS);
    }

    @Override
    protected void doRun() {
        for (StageRecord stage : StageRegistry.get().all()) {
            if (looksAt(stage) && !ASKED.contains(stage.id())) {
                // Each on its own: an agent that hangs must not keep the others from being asked.
                StageThreads.askFor(stage.node(), "looking at " + stage, () -> look(stage.id()));
            }
        }
    }

    private static boolean looksAt(StageRecord stage) {
        LiveStage live = stage == null ? null : LiveStage.find(stage.id());
        return live != null
                && stage.state() == StageState.RUNNING
                && stage.hasSandbox()
                && !live.busy()
                && !live.ending();
    }

    @CheckForNull
    private static String heldLock(LiveStage live) throws InterruptedException {
        if (!StepsInFlight.knowsLocks()) {
            return null;
        }
        try {
            return StepsInFlight.of(live).heldLock();
        } catch (IOException x) {
            LOGGER.log(Level.FINE, x, () -> "cannot tell which steps run in stage " + live.id());
            return null;
        }
    }

    /** Asks the agent now. Blocks. */
    public static void look(String stageId) throws InterruptedException {
        StageRecord stage = StageRegistry.get().find(stageId);
        LiveStage live = LiveStage.find(stageId);
        if (!looksAt(stage) || live == null || Nodes.rootOf(stage.node()) == null) {
            return;
        }
        if (!ASKED.add(stageId)) {
            return;
        }
        try {
            look(stage, live);
        } finally {
            ASKED.remove(stageId);
        }
    }

    private static void look(StageRecord stage, LiveStage live) throws InterruptedException {
        String stageId = stage.id();
        Node node = Nodes.named(stage.node());
        AgentStage.Seen seen;
        try {
            AgentStage agent = AgentStage.on(node, stageId);
            StageContainers containers = stage.containers();
            if (containers != null) {
                agent.tellContainers(containers.all(), StageContainers.marks(stage));
            }
            seen = agent.look();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "cannot look at " + stage);
            return;
        }
        live.memory().seen(System.currentTimeMillis(), seen.residentBytes());
        Measured.of(stage.node()).freeBytes(seen.freeBytes());
        Measured.of(stage.node()).totalBytes(seen.totalBytes());
        String lock = seen.leak() == null || seen.tie() != null ? heldLock(live) : null;
        String leak = seen.leak() == null ? lock : seen.leak();
        // A lock would be kept from others.
        String tie = lock == null ? seen.tie() : null;
        StageRecord now = StageRegistry.get().find(stageId);
        if (!looksAt(now) || (Objects.equals(now.leak(), leak) && Objects.equals(now.tie(), tie))) {
            return;
        }
        StageRecord noted;
        try {
            noted = StageRegistry.get().update(stageId, StageChanges.seen(leak, seen.leak() != null, tie));
        } catch (UncheckedIOException x) {
            LOGGER.log(Level.WARNING, x, () -> "what a look has found of " + now + " is not noted");
            return;
        }
        if (noted != null && noted.canOnlyBeFrozen()) {
            if (now.tie() == null) {
                // Refused as one that can be dumped, it may give way as what it is.
                live.tryAtOnce();
            }
            if (leak != null && now.leak() == null) {
                StageLog.line(
                        live.context(),
                        "This stage cannot be dumped as it is. " + leak
                                + " If it has to give way before that is gone, it is frozen in memory only, for at most "
                                + StageLog.time(FrozenOnly.longestMillis()) + ".");
            }
            return;
        }
        if (Objects.equals(now.leak(), leak)) {
            return;
        }
        if (leak == null) {
            StageLog.line(live.context(), "This stage can be suspended again: what stood against it is gone.");
        } else if (now.leak() == null) {
            StageLog.line(
                    live.context(),
                    "This stage cannot be suspended. " + leak + " It is not chosen until that is gone.");
        }
    }
}
