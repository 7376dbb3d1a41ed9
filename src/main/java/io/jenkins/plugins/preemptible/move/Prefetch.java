package io.jenkins.plugins.preemptible.move;

import hudson.Extension;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import io.jenkins.plugins.preemptible.lifecycle.image.GrowingImageListener;
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
 * An image that is brought to the agent that is going to have its stage, while it is still being made.
 *
 * <ol>
 *   <li>It has a folder there and nothing else: no executor, no workspace. No more images are on their way to an agent than it
 *       has idle executors.
 *   <li>{@link EarlyTransfer} brings it. Whose place the workspace takes is not decided here. Nor are the hosts compared:
 *       {@link TriedAgents} does so meanwhile.
 *   <li>{@link Transfer} takes it over if it is whole, of the same image and of the same connection; else it brings the image
 *       itself. What failed here is told nowhere: it fails there again, or does not matter.
 *   <li>What nobody has taken over for a minute is removed, see {@link LeftAgent}.
 * </ol>
 *
 * In memory only; safe for any thread.
 */
final class Prefetch {

    private static final Logger LOGGER = Logger.getLogger(Prefetch.class.getName());

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
    private final Node to;
    private final VirtualChannel connection;
    private final EarlyTransfer transfer;
    private final CompletableFuture<Boolean> arrived = new CompletableFuture<>();

    private Prefetch(StageRecord stage, LiveStage live, Node to, VirtualChannel connection) {
        this.stage = stage;
        this.to = to;
        this.connection = connection;
        transfer = new EarlyTransfer(stage, live, to);
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
        if (prefetch == null || !prefetch.isTo(to) || !prefetch.transfer.isOf(stage)) {
            return 0;
        }
        SealedLuggage packed = prefetch.transfer.luggage();
        return prefetch.transfer.bytes() * MoveTargets.COPIES + (packed == null ? 0 : packed.archiveBytes());
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
        boolean same = prefetch.isTo(to) && prefetch.transfer.isOf(stage) && prefetch.connection == to.getChannel();
        if (!same) {
            prefetch.drop();
        }
        try {
            boolean whole = prefetch.isTo(to) && prefetch.arrived.get();
            if (whole
                    && same
                    && prefetch.transfer.bytes() == stage.archiveBytes()
                    && ALL.remove(stage.id(), prefetch)) {
                SealedLuggage brought = prefetch.transfer.luggage();
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

    private boolean isTo(Node node) {
        return to.getNodeName().equals(node.getNodeName());
    }

    private void run() {
        boolean whole = false;
        try {
            whole = transfer.run();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "the image of " + stage + " is brought when its executor is there");
        } catch (InterruptedException x) {
            Thread.currentThread().interrupt();
        } finally {
            end(whole);
        }
    }

    /** Nobody takes it over: it is removed as soon as nothing more of it comes. */
    private void drop() {
        transfer.stop();
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
        } else if (transfer.hasBegun()) {
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
