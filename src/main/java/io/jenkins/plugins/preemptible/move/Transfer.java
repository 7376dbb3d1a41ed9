package io.jenkins.plugins.preemptible.move;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Node;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.checkpoint.RolledBack;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.lifecycle.Restorer;
import io.jenkins.plugins.preemptible.lifecycle.agents.UnknownStages;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.luggage.StageLuggage;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsOnAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Brings the image of a stage and its folders to an agent that is to restore it. Nothing is changed on the old agent.
 *
 * <ol>
 *   <li>Agent and stage are compared; the old agent confirms that nothing of the stage runs there, unless it has done so before.
 *   <li>The image comes from the build's artifacts, piece by piece; the agent unpacks it meanwhile.
 *   <li>As soon as its beginning is there the host is compared with what the image says.
 *   <li>Where all that was done while the image was made, see {@link Prefetch}, it is taken over.
 *   <li>Then the folders come from the artifacts, beside the rest of the image, where they are stored with it; else the old agent
 *       packs them.
 * </ol>
 *
 * Used once, under the stage's operation lock.
 */
final class Transfer {

    private static final Logger LOGGER = Logger.getLogger(Transfer.class.getName());

    private final LiveStage live;
    private final StageRecord stage;
    private final Node to;
    /** Whether that is the agent that it was on, which has lost its processes. */
    private final boolean own;

    private final MoveUnderWay move;

    private long workspaceBytes;

    Transfer(LiveStage live, StageRecord stage, Node to, boolean own, MoveUnderWay move) {
        this.live = live;
        this.stage = stage;
        this.to = to;
        this.own = own;
        this.move = move;
    }

    /** Of all files that were brought; 0 before. */
    long workspaceBytes() {
        return workspaceBytes;
    }

    /**
     * Brings it.
     *
     * @throws Restorer.NotMovedException when the stage does not fit that agent
     * @throws IOException when an agent or the archive fails
     */
    void run() throws IOException, InterruptedException {
        Run<?, ?> run = live.context().get(Run.class);
        HostTraits left = MoveTargets.left(stage);
        refuse(obstacle());
        if (left == null || run == null) {
            throw MovingRestorer.refused(Misfit.of(MoveObstacle.AGENT_AWAY));
        }
        List<String> temporary = MovedDirs.temporaryFolders(live, stage);
        // First: whatever stops this, each of them is cleaned unless the stage is on it then.
        StageRegistry.get()
                .update(
                        stage.id(),
                        LeftAgents.holds(stage.node(), temporary)
                                .andThen(LeftAgents.holds(to.getNodeName(), temporary)));
        MovingStage there = MovingStage.on(to, stage.id());
        String key = StageImages.keyOf(stage).getPlainText();
        move.step("the image is brought there");
        Prefetch.Taken taken = Prefetch.takeOver(stage, to);
        if (taken != Prefetch.Taken.NOTHING) {
            LOGGER.log(Level.FINE, "the image of {0} was brought while it was made: {1}", new Object[] {stage, taken});
            move.step("the workspace is brought there");
            if (!TriedAgents.compared(stage, to)) {
                compare(there, left, key, true);
            }
            bringFolders(run, there, taken == Prefetch.Taken.IMAGE_AND_WORKSPACE);
            return;
        }
        move.step("waits for an answer of " + to.getDisplayName());
        FilePath exchange = there.prepare(UnknownStages.originOf(stage));
        move.step("the image is brought there");
        String base = RolledBack.base(stage);
        if (base != null) {
            StageImages.fetchWhole(run, ImagePath.of(stage.id(), base), exchange.child(base));
        }
        // A difference needs its base all along, and is small.
        boolean ahead = base == null && stage.archiveBytes() > 0;
        Awaited<Boolean> unpacked = ahead ? there.unpackAhead(key) : () -> false;
        Awaited<Void> folders = () -> null;
        try {
            if (ahead) {
                folders = move.beside(() -> compareAndBringFolders(run, there, left, key, true));
            }
            StageImages.fetch(run, stage, exchange);
            move.step("the workspace is brought there");
            if (!ahead) {
                compareAndBringFolders(run, there, left, key, false);
            }
            folders.get();
            move.step("the image is unpacked there");
            unpacked.get();
        } finally {
            folders.giveUp();
            unpacked.giveUp();
        }
    }

    /** @param arriving whether the image is still being brought */
    private void compareAndBringFolders(Run<?, ?> run, MovingStage there, HostTraits left, String key, boolean arriving)
            throws IOException, InterruptedException {
        compare(there, left, key, arriving);
        bringFolders(run, there, false);
    }

    private void compare(MovingStage there, HostTraits left, String key, boolean arriving)
            throws IOException, InterruptedException {
        Misfit other = there.misfit(left, MoveTargets.needs(stage, live), StageLuggage.folders(stage), arriving, key);
        refuse(own && other != null && other.obstacle() == MoveObstacle.SAME_FOLDER ? null : other);
    }

    private void bringFolders(Run<?, ?> run, MovingStage there, boolean areThere)
            throws IOException, InterruptedException {
        refuse(MoveTargets.fromArchive(stage) ? unpack(run, there, areThere) : carry(there));
    }

    private static void refuse(@CheckForNull Misfit obstacle) throws Restorer.NotMovedException {
        if (obstacle != null) {
            throw MovingRestorer.refused(obstacle);
        }
    }

    /** What stands against it before anything is brought; null when nothing does. */
    @CheckForNull
    private Misfit obstacle() throws IOException, InterruptedException {
        move.step("waits for an answer of " + to.getDisplayName());
        // One that has just come back is not described yet.
        AgentTraits.learn(to);
        boolean sameHost = own && !MoveTargets.isAnotherHost(stage, to);
        Misfit obstacle = sameHost ? null : MoveTargets.obstacle(stage, live, to);
        if (obstacle == null) {
            obstacle = StepsOnAgent.obstacle(live);
        }
        if (obstacle != null || MoveTargets.fromArchive(stage)) {
            return obstacle;
        }
        Node from = Nodes.named(stage.node());
        if (from == null) {
            return Misfit.of(MoveObstacle.AGENT_AWAY);
        }
        move.step("waits for an answer of " + from.getDisplayName());
        AgentStage.Held held = AgentStage.on(from, stage.id()).hold();
        return held == AgentStage.Held.IMAGE || held == AgentStage.Held.GONE
                ? null
                : Misfit.of(MoveObstacle.NOT_SEALED);
    }

    @CheckForNull
    private Misfit unpack(Run<?, ?> run, MovingStage there, boolean isThere) throws IOException, InterruptedException {
        SealedLuggage sealed = stage.luggage();
        if (sealed == null) {
            throw new IOException("the workspace is not stored any more");
        }
        workspaceBytes = sealed.contentBytes();
        return isThere
                ? StageLuggage.unpackBrought(stage, sealed, there)
                : StageLuggage.unpack(run, stage, sealed, there);
    }

    /** From the old agent, where the workspace is not stored. */
    @CheckForNull
    private Misfit carry(MovingStage there) throws IOException, InterruptedException {
        MovingStage here = MovingStage.on(Nodes.named(stage.node()), stage.id());
        String key = ImageKey.generate().export();
        List<String> folders = StageLuggage.folders(stage);
        try {
            MovingStage.Packed packed =
                    here.pack(folders, PreemptibleConfiguration.get().moveExcludes(), key);
            if (packed.refusal() != null) {
                return packed.refusal();
            }
            workspaceBytes = packed.contentBytes();
            there.bring(here, packed.archiveBytes());
        } finally {
            here.dropLuggage();
        }
        return there.unpack(folders, key);
    }
}
