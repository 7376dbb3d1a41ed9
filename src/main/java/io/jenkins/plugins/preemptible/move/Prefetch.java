package io.jenkins.plugins.preemptible.move;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.FilePath;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.Run;
import hudson.remoting.VirtualChannel;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.agent.Delivery;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.agent.PiecesInOrder;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import io.jenkins.plugins.preemptible.lifecycle.agents.UnknownStages;
import io.jenkins.plugins.preemptible.lifecycle.image.GrowingArchive;
import io.jenkins.plugins.preemptible.lifecycle.image.GrowingImageListener;
import io.jenkins.plugins.preemptible.lifecycle.image.ImageGoneException;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.luggage.StageLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The image of a stage on its way to the agent that is going to have it, while the image is still being made.
 *
 * <ol>
 *   <li>It has a folder there and nothing else: no executor, no workspace. An agent that has anything of the stage is left as it
 *       is, and no more images are on their way to an agent than it has idle executors.
 *   <li>The agent unpacks what comes, and authenticates the whole. The stored workspace follows, packed: whose place it takes is
 *       not decided here. Nor are the hosts compared: {@link TriedAgents} does so meanwhile.
 *   <li>{@link Transfer} takes it over if it is whole, of the same image and of the same connection; else it brings the image
 *       itself. What failed here is told nowhere: it fails there again, or does not matter.
 *   <li>What nobody has taken over for a minute is removed, see {@link LeftAgent}.
 * </ol>
 *
 * In memory only; safe for any thread.
 */
final class Prefetch {

    private static final Logger LOGGER = Logger.getLogger(Prefetch.class.getName());
    private static final long LOOK_MILLIS = 5;
    private static final long LONG_LOOK_MILLIS = 500;
    /** Much more than an image that is about to be stored needs for its first bytes. */
    private static final long BEGINNING_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** What was brought. */
    enum Taken {
        NOTHING,
        /** It is unpacked. */
        IMAGE,
        /** The same, and the workspace lies there as it is stored. */
        IMAGE_AND_WORKSPACE
    }

    /** By the stages' ids. */
    private static final Map<String, Prefetch> ALL = new ConcurrentHashMap<>();

    private final StageRecord stage;
    private final LiveStage live;
    private final Node to;
    private final VirtualChannel connection;
    private final CompletableFuture<Boolean> arrived = new CompletableFuture<>();
    private volatile boolean unwanted;
    /** That were sent. */
    private volatile long bytes;
    /** That is being brought, too, or was; null before. */
    @CheckForNull
    private volatile SealedLuggage luggage;

    /** Whether something may be left on the agent. */
    private boolean begun;

    private Prefetch(StageRecord stage, LiveStage live, Node to, VirtualChannel connection) {
        this.stage = stage;
        this.live = live;
        this.to = to;
        this.connection = connection;
    }

    /** For how long an image waits to be taken over; shorter for tests. */
    private static long keptMillis() {
        return Long.getLong(Prefetch.class.getName() + ".keptMillis", TimeUnit.MINUTES.toMillis(1));
    }

    /** Begins it, unless the agent has no idle executor for it; returns at once. */
    static synchronized void begin(StageRecord stage, LiveStage live, Node to, VirtualChannel connection) {
        Computer computer = to.toComputer();
        long others = ALL.values().stream().filter(each -> each.isTo(to)).count();
        Prefetch prefetch = new Prefetch(stage, live, to, connection);
        if (computer != null && others < computer.countIdle() && ALL.putIfAbsent(stage.id(), prefetch) == null) {
            Computer.threadPoolForRemoting.execute(prefetch::run);
        }
    }

    /** That agent has refused the image, for instance. */
    static void giveUp(StageRecord stage, Node to) {
        Prefetch prefetch = ALL.get(stage.id());
        if (prefetch != null && prefetch.isTo(to)) {
            prefetch.drop();
        }
    }

    /** How much of what the stage needs of that agent's disk is taken by what has come already. */
    static long heldBytes(StageRecord stage, Node to) {
        Prefetch prefetch = ALL.get(stage.id());
        if (prefetch == null || !prefetch.isTo(to) || !isSame(prefetch.stage, stage)) {
            return 0;
        }
        SealedLuggage packed = prefetch.luggage;
        return prefetch.bytes * MoveTargets.COPIES + (packed == null ? 0 : packed.archiveBytes());
    }

    /**
     * Waits for what is on its way there.
     *
     * @return what is there, and the caller's from now on. Nothing more comes
     */
    static Taken takeOver(StageRecord stage, Node to) throws InterruptedException {
        Prefetch prefetch = ALL.get(stage.id());
        if (prefetch == null) {
            return Taken.NOTHING;
        }
        boolean same = prefetch.isTo(to) && isSame(prefetch.stage, stage) && prefetch.connection == connectionOf(to);
        if (!same) {
            prefetch.drop();
        }
        try {
            boolean whole = prefetch.isTo(to) && prefetch.arrived.get();
            if (whole && same && prefetch.bytes == stage.archiveBytes() && ALL.remove(stage.id(), prefetch)) {
                SealedLuggage brought = prefetch.luggage;
                SealedLuggage stored = stage.luggage();
                boolean both = brought != null && stored != null && brought.isSame(stored);
                return both ? Taken.IMAGE_AND_WORKSPACE : Taken.IMAGE;
            }
            prefetch.drop();
            return Taken.NOTHING;
        } catch (InterruptedException x) {
            prefetch.drop();
            throw x;
        } catch (ExecutionException x) {
            throw new IllegalStateException(x);
        }
    }

    private static VirtualChannel connectionOf(Node to) {
        Computer computer = to.toComputer();
        return computer == null ? null : computer.getChannel();
    }

    private boolean isTo(Node node) {
        return to.getNodeName().equals(node.getNodeName());
    }

    private static boolean isSame(StageRecord stage, StageRecord now) {
        Secret key = stage.imageKey();
        return now.suspensions() == stage.suspensions() && key != null && key.equals(now.imageKey());
    }

    private void run() {
        boolean whole = false;
        try {
            whole = bring();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "the image of " + stage + " is brought when its executor is there");
        } catch (InterruptedException x) {
            Thread.currentThread().interrupt();
        } finally {
            end(whole);
        }
    }

    private boolean bring() throws IOException, InterruptedException {
        String name = to.getNodeName();
        StageRecord now = StageRegistry.get().find(stage.id());
        if (now == null || LeftAgents.of(now).containsKey(name)) {
            // What it has left there at an earlier move is going to be removed.
            return false;
        }
        String key = StageImages.keyOf(stage).getPlainText();
        MovingStage agent = MovingStage.on(to, stage.id());
        if (StageRegistry.get().update(stage.id(), LeftAgents.holdsImage(name)) == null) {
            return false;
        }
        begun = true;
        FilePath exchange = agent.prepareEmpty(UnknownStages.originOf(stage));
        if (exchange == null) {
            begun = false;
            StageRegistry.get().update(stage.id(), LeftAgents.holdsNoImage(name));
            return false;
        }
        Awaited<Boolean> unpacked = agent.unpackAhead(key);
        boolean whole = false;
        try (GrowingArchive image = StageImages.growing(live)) {
            Delivery.bring(() -> next(image), exchange.child(AgentStage.IMAGE_FILE));
            whole = !unwanted;
        } finally {
            if (!whole) {
                unpacked.giveUp();
            }
        }
        if (whole && isThere(unpacked)) {
            bringLuggage(agent);
            return wanted() != null;
        }
        return false;
    }

    private boolean isThere(Awaited<Boolean> unpacked) throws IOException, InterruptedException {
        while (!unpacked.isThereWithin(LONG_LOOK_MILLIS)) {
            if (wanted() == null) {
                unpacked.giveUp();
                return false;
            }
        }
        return unpacked.get();
    }

    private void bringLuggage(MovingStage agent) throws IOException, InterruptedException {
        Run<?, ?> run = live.context().get(Run.class);
        StageRecord sealed = awaitSealed();
        SealedLuggage stored = sealed == null ? null : sealed.luggage();
        if (run == null || stored == null || stored.base() != null) {
            return;
        }
        // Its size was not known when the agent was chosen, and the disk has taken an image since.
        AgentTraits.asked(to);
        if (MoveTargets.obstacle(sealed, live, to) == null) {
            luggage = stored;
            StageLuggage.bring(run, sealed, stored, agent, () -> wanted() != null);
        }
    }

    /** Null when it is not wanted any more. */
    @CheckForNull
    private StageRecord awaitSealed() throws InterruptedException {
        for (StageRecord now = wanted(); now != null; now = wanted()) {
            if (!now.frozen()) {
                return now;
            }
            Thread.sleep(LOOK_MILLIS);
        }
        return null;
    }

    /** Ends early where it is not wanted any more, so that each piece is waited for that was sent. */
    private byte[] next(GrowingArchive image) throws IOException, InterruptedException {
        while (wanted() != null) {
            byte[] piece = image.next(PiecesInOrder.PIECE);
            if (piece != null) {
                bytes += piece.length;
                return piece;
            }
            Thread.sleep(LOOK_MILLIS);
        }
        unwanted = true;
        return new byte[0];
    }

    /** The stage, as long as this is its image. */
    @CheckForNull
    private StageRecord wanted() {
        return unwanted ? null : still(stage);
    }

    @CheckForNull
    private static StageRecord still(StageRecord stage) {
        StageRecord now = StageRegistry.get().find(stage.id());
        boolean suspended = now != null && (now.state() == StageState.SUSPENDED || now.state() == StageState.RESUMING);
        return suspended && isSame(stage, now) ? now : null;
    }

    /**
     * The first bytes of an image that is being made, as soon as they are there.
     *
     * @return fewer only when it has no more
     * @throws ImageGoneException when the image comes to nothing, or takes long: it is tried when it is sealed
     */
    static byte[] beginning(StageRecord stage, LiveStage live, int bytes)
            throws ImageGoneException, InterruptedException {
        long began = System.nanoTime();
        try (GrowingArchive image = StageImages.growing(live)) {
            while (still(stage) != null && System.nanoTime() - began < BEGINNING_NANOS) {
                byte[] beginning = image.next(bytes);
                if (beginning != null) {
                    return beginning;
                }
                Thread.sleep(LOOK_MILLIS);
            }
        } catch (IOException x) {
            LOGGER.log(Level.FINE, x, () -> "the image of " + stage + " was given up while it was made");
        }
        throw new ImageGoneException("the image is not there yet");
    }

    /** Nobody takes it over: it is removed as soon as nothing more of it comes. */
    private void drop() {
        unwanted = true;
        arrived.thenAccept(whole -> {
            if (whole && ALL.remove(stage.id(), this)) {
                clean();
            }
        });
    }

    private void clean() {
        String name = to.getNodeName();
        if (StageRegistry.get().find(stage.id()) != null) {
            LeftAgent.schedule(stage.id(), name, 0);
            return;
        }
        // It has ended meanwhile, and what was known of that agent with it.
        StageThreads.soonFor(
                name,
                "removing what " + name + " has of " + stage,
                () -> MovingStage.on(to, stage.id()).leave(List.of()));
    }

    private void end(boolean whole) {
        if (!whole) {
            ALL.remove(stage.id(), this);
        }
        arrived.complete(whole);
        String name = to.getNodeName();
        if (whole) {
            StageThreads.schedule("removing an image of " + stage + " from " + name, keptMillis(), this::drop);
        } else if (begun) {
            clean();
        }
    }

    /** Begins as soon as there is something to try and to bring. */
    @Extension
    public static final class OfGrowingImages implements GrowingImageListener {
        @Override
        public void onBeginning(String stageId) {
            StageThreads.ask("looking where stage " + stageId + " may go", () -> {
                StageRecord stage = StageRegistry.get().find(stageId);
                LiveStage live = LiveStage.find(stageId);
                if (stage != null && live != null) {
                    MoveTargets.lookAhead(stage, live, OtherPlugins.now());
                }
            });
        }
    }
}
