package io.jenkins.plugins.preemptible.move;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.Run;
import hudson.remoting.Channel;
import hudson.remoting.VirtualChannel;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.checkpoint.RolledBack;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.move.StageNeeds;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import io.jenkins.plugins.preemptible.lifecycle.image.ImageGoneException;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.luggage.StageLuggage;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsOnAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.MoveWish;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * On which agents a stage's image was tried, before their executors are claimed for it.
 *
 * <ol>
 *   <li>{@link #passed} never waits: an agent that was not tried is tried meanwhile, one at a time for each stage, from the
 *       first megabytes of the stored image.
 *   <li>A trial that fails, or a host that differs, keeps the stage from that agent for a while ({@link FailedMoves}); the
 *       build log says why. An agent that cannot make trials counts as if it had passed.
 *   <li>A result holds for ten minutes, and for one connection: the agent may be another host afterwards. A trial that breaks
 *       off with its connection, once, has none; nor has one that could not be made while the image is still being made.
 * </ol>
 *
 * In memory only. Safe for any thread.
 */
final class TriedAgents {

    private static final Logger LOGGER = Logger.getLogger(TriedAgents.class.getName());
    private static final long HOLDS_NANOS = TimeUnit.MINUTES.toNanos(10);
    private static final int MOST = 10_000;

    private static final int MORE = 5;
    /** What lies in front of the memory of thousands of processes. */
    private static final int MOST_BYTES = 32 << 20;

    private static final Map<String, Passed> PASSED = new ConcurrentHashMap<>();
    /** When an agent disconnected during a trial. */
    private static final Map<String, Long> GONE = new ConcurrentHashMap<>();
    /** Images of suspensions of whose uselessness the build's log says. */
    private static final Set<String> TOLD = ConcurrentHashMap.newKeySet();
    /** Stages. */
    private static final Set<String> UNDER_WAY = ConcurrentHashMap.newKeySet();

    /**
     * @param imageKey of the image, or of another one of the same frozen processes
     * @param compared whether the hosts were, too
     */
    private record Passed(VirtualChannel connection, Secret imageKey, boolean compared, long atNanos) {}

    private TriedAgents() {}

    /** Whether it may be asked to restore the stage. If that is not known, it is going to be, and the queue is looked at then. */
    static boolean passed(StageRecord stage, LiveStage live, Node agent) {
        VirtualChannel connection = agent.getChannel();
        if (connection == null) {
            return false;
        }
        boolean passed = of(stage, agent, connection) != null;
        if (!passed) {
            begin(stage, live, agent, connection, false);
        }
        return passed;
    }

    /** Whether the trial there has compared the hosts with what the image says. */
    static boolean compared(StageRecord stage, Node agent) {
        Passed passed = of(stage, agent, agent.getChannel());
        return passed != null && passed.compared;
    }

    @CheckForNull
    private static Passed of(StageRecord stage, Node agent, @CheckForNull VirtualChannel connection) {
        Passed passed = PASSED.get(key(stage, agent));
        boolean holds = passed != null
                && passed.connection == connection
                && passed.imageKey.equals(stage.imageKey())
                && System.nanoTime() - passed.atNanos < HOLDS_NANOS;
        return holds ? passed : null;
    }

    /**
     * Tries it there while the image is still being made, and has that brought there meanwhile; returns at once. What this comes
     * to is found by {@link #passed} or {@link Prefetch#takeOver}.
     *
     * @param stage frozen
     */
    static void ahead(StageRecord stage, LiveStage live, Node agent) {
        VirtualChannel connection = agent.getChannel();
        if (connection != null) {
            begin(stage, live, agent, connection, true);
        }
    }

    private static String key(StageRecord stage, Node agent) {
        return ofSuspension(stage) + "/" + agent.getNodeName();
    }

    // A checkpoint is another image of the same suspension.
    private static String ofSuspension(StageRecord stage) {
        return stage.suspensions() + "/"
                + (stage.frozen() ? ImagePath.of(stage.id(), ImagePath.FILE) : ImagePath.of(stage));
    }

    private static void begin(StageRecord stage, LiveStage live, Node agent, VirtualChannel connection, boolean ahead) {
        if (!UNDER_WAY.add(stage.id())) {
            return;
        }
        String name = agent.getNodeName();
        tellIfLong(stage, live, agent);
        StageThreads.askFor(name, "trying " + stage + " on " + agent.getDisplayName(), () -> {
            try {
                attempt(stage, live, agent, connection, ahead);
            } catch (IOException | RuntimeException x) {
                if (ahead) {
                    Prefetch.giveUp(stage, agent);
                }
                boolean mayPass = ahead && (isOfImage(x) || MovingStage.isAnswer(x));
                if (mayPass || hasJustGone(stage, agent, connection)) {
                    LOGGER.log(
                            Level.FINE,
                            x,
                            () -> stage + " is tried on " + name
                                    + " again when its image is made and that agent is there");
                } else {
                    LOGGER.log(Level.WARNING, x, () -> "cannot try " + stage + " on " + name);
                    failed(stage, live, agent, x);
                }
            } finally {
                UNDER_WAY.remove(stage.id());
            }
            // It may have that agent now; or the next one is tried.
            MoveTargetsListener.fire();
        });
    }

    /**
     * Whether it has disconnected meanwhile, for the first time in a while: what failed then tells nothing of the next connection.
     * It may disconnect at each trial.
     */
    private static boolean hasJustGone(StageRecord stage, Node agent, VirtualChannel connection) {
        boolean gone = agent.getChannel() != connection
                || connection instanceof Channel channel && channel.isClosingOrClosed();
        long now = System.nanoTime();
        GONE.values().removeIf(then -> now - then > HOLDS_NANOS);
        return gone && GONE.size() < MOST && GONE.putIfAbsent(key(stage, agent), now) == null;
    }

    private static void failed(StageRecord stage, LiveStage live, Node agent, Exception why)
            throws InterruptedException {
        boolean ofImage = isOfImage(why);
        if (ofImage && hasAnother(stage, live)) {
            return;
        }
        // Another agent comes first; this one may do better in a while.
        String name = agent.getNodeName();
        String words = "Its image could not be tried there: " + why.getMessage();
        String sentence = words + (words.endsWith(".") ? "" : ".");
        // An image that is of no use is at no other agent's fault either.
        FailedMoves.refused(stage, name, ofImage ? FailureReason.IMAGE_UNUSABLE.name() : "", sentence);
        if (TOLD.size() > MOST) {
            TOLD.clear();
        }
        if (name.equals(wanted(stage)) || ofImage && TOLD.add(stage.id() + "/" + ofSuspension(stage))) {
            say(live, agent, sentence, List.of());
        }
    }

    private static boolean isOfImage(Exception why) {
        return why instanceof ImageGoneException || MovingStage.isOfImage(why);
    }

    /** Whether the stage has another checkpoint in the place of the one that was tried. */
    private static boolean hasAnother(StageRecord stage, LiveStage live) throws InterruptedException {
        live.operation().lockInterruptibly();
        try {
            StageRecord now = StageRegistry.get().find(stage.id());
            boolean same = now != null && ofSuspension(now).equals(ofSuspension(stage));
            return same
                    && now.state() == StageState.SUSPENDED
                    && now.restoringOn() == null
                    && hasUntried(now)
                    && RolledBack.refused(live, now);
        } finally {
            live.operation().unlock();
        }
    }

    private static boolean hasUntried(StageRecord stage) {
        return stage.rolledBack()
                && stage.checkpoints().made().stream()
                        .anyMatch(each -> !each.refused() && !each.file().equals(stage.imageFile()));
    }

    /** A user who has asked for a move there waits for that trial. */
    private static void tellIfLong(StageRecord stage, LiveStage live, Node agent) {
        String name = agent.getNodeName();
        if (name.equals(stage.moveTo())) {
            StageThreads.schedule("telling of a trial of " + stage, MoveUnderWay.tellMillis(), () -> {
                if (UNDER_WAY.contains(stage.id()) && name.equals(wanted(stage))) {
                    StageLog.line(
                            live.context(),
                            "Moving to " + agent.getDisplayName() + ": waits for that agent to try the image, for "
                                    + StageLog.time(MoveUnderWay.tellMillis())
                                    + " now. Nothing of the stage is changed yet; preemptible-resume takes the move back.");
                }
            });
        }
    }

    @CheckForNull
    private static String wanted(StageRecord stage) {
        StageRecord now = StageRegistry.get().find(stage.id());
        return now == null ? null : now.moveTo();
    }

    private static void attempt(StageRecord stage, LiveStage live, Node agent, VirtualChannel connection, boolean ahead)
            throws IOException, InterruptedException {
        Run<?, ?> run = live.context().get(Run.class);
        StageRecord now = StageRegistry.get().find(stage.id());
        Secret imageKey = now == null ? null : now.imageKey();
        if (run == null || now == null || imageKey == null || !key(now, agent).equals(key(stage, agent))) {
            return;
        }
        Misfit obstacle = StepsOnAgent.obstacle(live);
        if (obstacle != null) {
            FailedMoves.refused(stage, agent.getNodeName(), obstacle.obstacle().name(), obstacle.sentence());
            say(live, agent, obstacle.sentence(), List.of());
            return;
        }
        // Before the key goes there.
        Queue.BuildableItem item = live.hold().asItem(now, agent);
        if (item != null && !OtherPlugins.now().letTake(agent, item)) {
            FailedMoves.heldOff(stage, agent.getNodeName());
            return;
        }
        if (item != null && agent.canTake(item) != null) {
            Misfit forbidden = Misfit.of(MoveObstacle.NOT_ALLOWED);
            FailedMoves.refused(stage, agent.getNodeName(), forbidden.obstacle().name(), forbidden.sentence());
            say(live, agent, forbidden.sentence(), List.of());
            return;
        }
        if (ahead) {
            Prefetch.begin(now, live, agent, connection);
        }
        HostTraits own = MoveTargets.left(now);
        MovingStage.Tried tried;
        int bytes = StageImages.BEGINNING_BYTES;
        do {
            byte[] beginning =
                    ahead ? new ImageInMaking(now).beginning(live, bytes) : StageImages.beginning(run, now, bytes);
            tried = MovingStage.on(agent, now.id())
                    .tryBeginning(
                            beginning,
                            StageLuggage.folders(now),
                            PreemptibleConfiguration.get().moveExcludes(),
                            own,
                            new StageNeeds(MoveTargets.memoryBytes(now, live), -1, Map.of()),
                            imageKey.getPlainText());
            boolean whole = beginning.length < bytes;
            bytes = whole ? Integer.MAX_VALUE : bytes * MORE;
        } while (tried.needsMore() && bytes <= MOST_BYTES);
        if (ahead && tried.needsMore()) {
            // When all of it is there, or when it is sealed at last.
            return;
        }
        if (!tried.refuses()) {
            LOGGER.log(tried.tells() ? Level.FINE : Level.INFO, "{0} on {1}: {2}", new Object[] {
                stage, agent.getNodeName(), tried.sentence()
            });
            PASSED.values().removeIf(each -> System.nanoTime() - each.atNanos > HOLDS_NANOS);
            if (PASSED.size() < MOST) {
                PASSED.put(key(stage, agent), new Passed(connection, imageKey, own != null, System.nanoTime()));
            }
            return;
        }
        Prefetch.giveUp(stage, agent);
        FailedMoves.refused(stage, agent.getNodeName(), reason(tried), tried.sentence());
        say(live, agent, tried.sentence(), tried.criuLines());
    }

    private static String reason(MovingStage.Tried refused) {
        Misfit misfit = refused.misfit();
        if (misfit != null) {
            return misfit.obstacle().name();
        }
        return (refused.verdict() == TrialVerdict.FAILED ? FailureReason.NOT_RESTORABLE : FailureReason.TRIAL_TIMEOUT)
                .name();
    }

    private static void say(LiveStage live, Node agent, String why, List<String> criuLines) {
        StageRecord stage = StageRegistry.get().find(live.id());
        if (stage == null) {
            return;
        }
        boolean wanted = agent.getNodeName().equals(stage.moveTo());
        if (wanted) {
            StageRegistry.get().update(stage.id(), StageChanges.moveTo(null));
        }
        StageLog.refusal(
                live.context(),
                (wanted
                                ? "Move to " + agent.getDisplayName() + " cancelled: "
                                : "Not moved to " + agent.getDisplayName() + ": ")
                        + why + " "
                        + (wanted ? MoveWish.whatFollows(stage) : "The stage stays suspended")
                        + "; that agent is not tried again for ten minutes.",
                criuLines);
    }
}
