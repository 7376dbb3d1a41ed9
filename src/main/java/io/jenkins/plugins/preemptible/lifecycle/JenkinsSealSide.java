package io.jenkins.plugins.preemptible.lifecycle;

import hudson.model.Run;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.hand.DrainedAgents;
import io.jenkins.plugins.preemptible.lifecycle.agents.FrozenOnly;
import io.jenkins.plugins.preemptible.lifecycle.agents.Measured;
import io.jenkins.plugins.preemptible.lifecycle.image.ArchiveRoom;
import io.jenkins.plugins.preemptible.lifecycle.image.GrowingImageListener;
import io.jenkins.plugins.preemptible.lifecycle.image.ImageAhead;
import io.jenkins.plugins.preemptible.lifecycle.image.SealingProgress;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.luggage.StageLuggage;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StageMarks;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsOnAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.MoveWish;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.view.ClockTime;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;

/** A Pipeline build, and the disk that its artifacts are on. */
final class JenkinsSealSide implements SealSide {

    private static final Logger LOGGER = Logger.getLogger(Sealing.class.getName());

    private final LiveStage live;
    /** Of the image that is being made, or was made last; null where nothing of it is brought meanwhile. */
    private ImageAhead ahead;

    JenkinsSealSide(LiveStage live) {
        this.live = live;
    }

    @Override
    public boolean isThere(String node) {
        return Nodes.rootOf(node) != null;
    }

    @Override
    public Secret newKey() {
        return Secret.fromString(ImageKey.generate().export());
    }

    /** From when it was taken for lost: it may have stood still all the time. */
    @Override
    public long thawByMillis(StageRecord stage) {
        return stage.canOnlyBeFrozen() ? stage.suspendedSinceMillis() + FrozenOnly.longestMillis() : 0;
    }

    @Override
    public Progress progress(StageRecord stage) {
        return SealingProgress.of(live, stage.node())::close;
    }

    @Override
    public String tooLarge(long bytes) {
        return StageImages.tooLarge(bytes);
    }

    @Override
    public ArchiveRoom.Shortage shortage(long bytes) throws IOException, InterruptedException {
        long held = ahead == null ? 0 : ahead.heldBytes();
        ArchiveRoom.Shortage shortage = ArchiveRoom.missing(live.context().get(Run.class), Math.max(0, bytes - held));
        if (shortage != null) {
            // Others may need that room meanwhile.
            drop();
            dropMove(shortage.sentence());
        }
        return shortage;
    }

    /** It would stay frozen for as long as the disk is full, and nobody has asked for that. */
    private void dropMove(String why) {
        StageRecord stage = StageRegistry.get().find(live.id());
        if (stage != null && stage.moveTo() != null && !stage.byHand()) {
            MoveWish.cancel(live, stage, why);
        }
    }

    @Override
    public AgentStage.Dump dump(StageAgent agent, String key, boolean awaited)
            throws IOException, InterruptedException {
        drop();
        ahead = StageImages.ahead(live, agent);
        boolean made = false;
        Awaited<AgentStage.Dump> dumping = agent.dump(key, true, awaited);
        try {
            long pauseMillis = ahead == null ? ImageAhead.NO_MORE : 0;
            boolean told = !awaited;
            // After a failure the agent may be away: only the answer itself is waited for with limits.
            while (pauseMillis != ImageAhead.NO_MORE && !dumping.isThereWithin(pauseMillis)) {
                pauseMillis = ahead.step();
                if (!told && ahead.heldBytes() >= StageImages.BEGINNING_BYTES) {
                    told = true;
                    GrowingImageListener.fire(live.id());
                }
            }
            AgentStage.Dump dump = dumping.get();
            made = dump.refusal() == null;
            if (made && !told && ahead != null) {
                // A small one, which is all brought next.
                GrowingImageListener.fire(live.id());
            }
            return dump;
        } finally {
            if (!made) {
                dumping.giveUp();
                drop();
            }
        }
    }

    @Override
    public void close() {
        drop();
    }

    private void drop() {
        if (ahead != null) {
            ahead.close();
            ahead = null;
        }
    }

    @Override
    public void store(StageAgent agent, long bytes) throws IOException, InterruptedException {
        try {
            StageImages.store(live, agent, ahead, bytes);
        } finally {
            drop();
        }
    }

    @Override
    public boolean isAwaited(StageRecord stage) {
        return stage.moveTo() != null || DrainedAgents.get().contains(stage.node());
    }

    @Override
    public Luggage packLuggage(StageRecord stage) throws IOException, InterruptedException {
        Awaited<StageLuggage.Packed> packing = StageLuggage.begin(live, stage);
        return new Luggage() {
            @Override
            public SealedLuggage store() throws IOException, InterruptedException {
                StageLuggage.Packed packed = packing.get();
                return packed == null ? null : StageLuggage.store(live, packed, ImagePath.LUGGAGE);
            }

            @Override
            public void close() {
                packing.giveUp();
            }
        };
    }

    @Override
    public void dropLuggage(StageRecord stage, boolean taken) throws InterruptedException {
        try {
            Run<?, ?> run = live.context().get(Run.class);
            if (!taken && run != null) {
                StageImages.delete(run, live.id(), ImagePath.LUGGAGE);
            }
            MovingStage.on(Nodes.named(stage.node()), live.id()).dropLuggage();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(
                    Level.FINE,
                    x,
                    () -> "the packed workspace of stage " + live.id() + " is removed when it is resumed");
        }
    }

    @Override
    public String why(Exception failure) {
        return StageImages.why(failure);
    }

    @Override
    public void discard() throws InterruptedException {
        StageImages.discard(live);
    }

    @Override
    public void say(String line) {
        StageLog.line(live.context(), line);
    }

    @Override
    public void say(String line, List<String> criuLines) {
        StageLog.refusal(live.context(), line, criuLines);
    }

    @Override
    public void sayInMemoryOnly(String agent) throws InterruptedException {
        ToldInMemoryOnly.once(live, agent);
    }

    @Override
    public void showSealed(StageRecord stage) {
        StageMarks.sealed(live, stage);
    }

    @Override
    public void measured(String node, long bytes, long millis) {
        Measured.of(node).dumped(bytes, millis);
    }

    @Override
    public void lost() throws IOException, InterruptedException {
        Sealing.lost(live);
    }

    @Override
    public void kept(StageRecord stage) throws InterruptedException {
        StepsOnAgent.follow(live);
        StageMarks.sealed(live, stage);
        say("The agent '" + stage.node()
                + "' is back and still has this stage's processes: it does not go back to its checkpoint."
                + (stage.thawByMillis() == 0
                        ? ""
                        : " It cannot be dumped, and stays frozen at most until " + ClockTime.of(stage.thawByMillis())
                                + "."));
    }

    @Override
    public void tell(Consumer<StageListener> event) {
        StageListener.fire(event);
    }
}
