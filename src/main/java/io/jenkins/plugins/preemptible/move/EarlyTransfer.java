package io.jenkins.plugins.preemptible.move;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Node;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.agent.Delivery;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.agent.PiecesInOrder;
import io.jenkins.plugins.preemptible.lifecycle.agents.UnknownStages;
import io.jenkins.plugins.preemptible.lifecycle.image.GrowingArchive;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.luggage.StageLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;

/**
 * Brings an image to an agent while it is being made, and then the workspace as it is stored.
 *
 * <p>The agent unpacks what comes into a folder of the stage, and authenticates the whole; nothing of the image need be there yet when
 * this begins. An agent that has anything of the stage is left as it is.
 *
 * <p>{@link #run} once, by one thread; all else by any thread.
 */
final class EarlyTransfer {

    private static final long LOOK_MILLIS = 5;
    private static final long LONG_LOOK_MILLIS = 500;

    private final StageRecord stage;
    private final ImageInMaking making;
    private final LiveStage live;
    private final Node to;
    private volatile boolean stopped;
    private volatile boolean begun;
    private volatile long bytes;

    @CheckForNull
    private volatile SealedLuggage luggage;

    /** @param stage frozen, as it is now */
    EarlyTransfer(StageRecord stage, LiveStage live, Node to) {
        this.stage = stage;
        this.live = live;
        this.to = to;
        making = new ImageInMaking(stage);
    }

    /** Nothing more is sent soon after. */
    void stop() {
        stopped = true;
    }

    /** Whether something of the stage may be on the agent. */
    boolean hasBegun() {
        return begun;
    }

    /** Of the image, that were sent. */
    long bytes() {
        return bytes;
    }

    /** The workspace that is brought, too, or was; null before. */
    @CheckForNull
    SealedLuggage luggage() {
        return luggage;
    }

    /**
     * Waits for what is not there yet.
     *
     * @return whether all of the image is there and nobody has stopped it. The workspace need not be
     * @throws IOException when image or agent fail
     */
    boolean run() throws IOException, InterruptedException {
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
            whole = !stopped;
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

    /** Ends early where it is not wanted any more, so that each piece is waited for that was sent. */
    private byte[] next(GrowingArchive image) throws IOException, InterruptedException {
        byte[] piece = image.await(PiecesInOrder.PIECE, this::isWanted);
        if (piece == null) {
            stopped = true;
            return new byte[0];
        }
        bytes += piece.length;
        return piece;
    }

    private boolean isThere(Awaited<Boolean> unpacked) throws IOException, InterruptedException {
        while (!unpacked.isThereWithin(LONG_LOOK_MILLIS)) {
            if (!isWanted()) {
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
            StageLuggage.bring(run, sealed, stored, agent, this::isWanted);
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

    /** Whether it is the image that the stage has now. */
    boolean isOf(StageRecord now) {
        return making.isOf(now);
    }

    private boolean isWanted() {
        return wanted() != null;
    }

    @CheckForNull
    private StageRecord wanted() {
        return stopped ? null : making.wanted();
    }
}
