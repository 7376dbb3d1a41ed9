package io.jenkins.plugins.preemptible.lifecycle.luggage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Node;
import hudson.model.Run;
import hudson.remoting.VirtualChannel;
import hudson.slaves.WorkspaceList;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.image.ArchiveRoom;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsOnAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Packs, stores and unpacks the workspace of one stage and the temporary folder beside it.
 *
 * <ol>
 *   <li>{@link #pack} on the agent, while the stage is frozen: only so do the files fit its memory.
 *   <li>{@link #store} among the build's artifacts; the stage may go on meanwhile.
 *   <li>{@link #unpack} on any agent.
 * </ol>
 *
 * What stands against it is said in the build's log, and null is the answer: the stage then cannot be resumed without its own
 * agent. Only an
 * agent that does not answer throws.
 */
public final class StageLuggage {

    private static final Logger LOGGER = Logger.getLogger(StageLuggage.class.getName());

    private StageLuggage() {}

    /**
     * What lies packed on the agent.
     *
     * @param key that it is sealed with
     * @param host that it lies on
     */
    public record Packed(MovingStage agent, Secret key, HostTraits host, long contentBytes, long archiveBytes) {}

    /** The workspace, and the temporary folder beside it, in which Pipeline keeps what its steps need. */
    public static List<String> folders(StageRecord stage) {
        List<String> folders = new ArrayList<>(List.of(stage.workspace()));
        folders.addAll(temporary(stage));
        return folders;
    }

    /** The last of these. */
    public static List<String> temporary(StageRecord stage) {
        FilePath beside = WorkspaceList.tempDir(new FilePath((VirtualChannel) null, stage.workspace()));
        return beside == null ? List.of() : List.of(beside.getRemote());
    }

    /**
     * Packs. Takes as long as the workspace is large.
     *
     * @param stage frozen on its agent
     * @return null when that is not wanted, or cannot be
     * @throws IOException when the agent does not answer
     */
    @CheckForNull
    public static Packed pack(LiveStage live, StageRecord stage) throws IOException, InterruptedException {
        return begin(live, stage).get();
    }

    /** Begins to {@link #pack}, and returns at once. */
    public static Awaited<Packed> begin(LiveStage live, StageRecord stage) throws IOException, InterruptedException {
        long mostBytes = PreemptibleConfiguration.get().storedWorkspaceBytes();
        if (!PreemptibleConfiguration.get().isMoveStages() || stage.form() != StageRecord.Form.OWN || mostBytes == 0) {
            return () -> null;
        }
        Node node = Nodes.named(stage.node());
        MovingStage agent = MovingStage.on(node, stage.id());
        Misfit obstacle = StepsOnAgent.obstacle(live);
        if (obstacle != null) {
            String why = obstacle.sentence();
            return () -> not(live, why);
        }
        String key = ImageKey.generate().export();
        Awaited<MovingStage.Packed> packing = agent.beginPacking(
                folders(stage), PreemptibleConfiguration.get().moveExcludes(), key, mostBytes);
        return packing.then(packed -> {
            Misfit refusal = packed.refusal();
            return refusal != null
                    ? not(live, refusal.sentence())
                    : new Packed(
                            agent, Secret.fromString(key), packed.host(), packed.contentBytes(), packed.archiveBytes());
        });
    }

    /**
     * Stores what was packed.
     *
     * @param file its name beside the image's, such as {@link ImagePath#LUGGAGE}; replaced when it is there
     * @return null when it cannot be stored; nothing of it is there then
     * @throws IOException when the agent does not answer
     */
    @CheckForNull
    public static SealedLuggage store(LiveStage live, Packed packed, String file)
            throws IOException, InterruptedException {
        ArchiveRoom.Shortage full = ArchiveRoom.missing(live.context().get(Run.class), packed.archiveBytes());
        if (full != null) {
            return not(live, full.sentence());
        }
        AtomicBoolean agentAway = new AtomicBoolean();
        try {
            StageImages.store(
                    live,
                    (offset, most) -> {
                        agentAway.set(true);
                        Awaited<byte[]> piece = packed.agent().askLuggage(offset, most);
                        agentAway.set(false);
                        return noting(agentAway, piece);
                    },
                    packed.archiveBytes(),
                    file);
        } catch (ArchiveRoom.ShortageException x) {
            return not(live, x.shortage().sentence());
        } catch (IOException | RuntimeException x) {
            if (agentAway.get()) {
                throw x;
            }
            LOGGER.log(Level.WARNING, x, () -> "cannot archive the workspace of stage " + live.id());
            return not(live, "It could not be archived: " + StageImages.why(x) + ".");
        }
        return SealedLuggage.of(file, packed.key(), packed.archiveBytes(), packed.contentBytes(), packed.host());
    }

    /** Notes that it was the agent that failed, and not the archive. */
    private static Awaited<byte[]> noting(AtomicBoolean agentAway, Awaited<byte[]> piece) {
        return new Awaited<>() {
            @Override
            public byte[] get() throws IOException, InterruptedException {
                agentAway.set(true);
                byte[] arrived = piece.get();
                agentAway.set(false);
                return arrived;
            }

            @Override
            public void giveUp() {
                piece.giveUp();
            }
        };
    }

    @CheckForNull
    private static <T> T not(LiveStage live, String why) {
        StageRecord stage = StageRegistry.get().find(live.id());
        // One that is resumed meanwhile changes its workspace.
        if (stage != null && (stage.frozen() || stage.state() == StageState.SUSPENDING)) {
            StageLog.line(
                    live.context(),
                    "The workspace is not stored with the image. " + why
                            + " Without its own agent the stage cannot be resumed.");
        }
        return null;
    }

    /**
     * Brings the folders to an agent, in the place of what is there.
     *
     * @param there prepared for the stage; nobody else uses the folders
     * @return why not; null when they are there
     * @throws IOException when the agent or the archive fails, or what is stored is not what was sealed; the folders are as
     *     they were
     */
    @CheckForNull
    public static Misfit unpack(Run<?, ?> run, StageRecord stage, SealedLuggage luggage, MovingStage there)
            throws IOException, InterruptedException {
        bring(run, stage, luggage, there, () -> true);
        return unpackBrought(stage, luggage, there);
    }

    /**
     * The first half of {@link #unpack}: changes nothing but the folder in which things come.
     *
     * @param wanted asked for each piece; nothing more comes once it is false
     */
    public static void bring(
            Run<?, ?> run, StageRecord stage, SealedLuggage luggage, MovingStage there, BooleanSupplier wanted)
            throws IOException, InterruptedException {
        String stored = ImagePath.of(stage.id(), luggage.file());
        StageImages.fetch(run, stored, luggage.archiveBytes(), there.luggageFile(), wanted);
        String base = luggage.base();
        if (base != null) {
            FilePath beside = Objects.requireNonNull(there.luggageFile().sibling(base), "a file has a folder");
            StageImages.fetchWhole(run, ImagePath.of(stage.id(), base), beside);
        }
    }

    /** The second half. */
    @CheckForNull
    public static Misfit unpackBrought(StageRecord stage, SealedLuggage luggage, MovingStage there)
            throws IOException, InterruptedException {
        return there.unpack(folders(stage), luggage.key().getPlainText());
    }
}
