package io.jenkins.plugins.preemptible.checkpoint;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.model.Node;
import hudson.model.Run;
import hudson.remoting.RequestAbortedException;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.CheckpointedStage;
import io.jenkins.plugins.preemptible.agent.CheckpointedStage.Made;
import io.jenkins.plugins.preemptible.agent.CheckpointedStage.Names;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.move.Misfit;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.image.ArchiveRoom;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.luggage.StageLuggage;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsInFlight;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsOnAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.Checkpoints;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageCheckpoint;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Makes one checkpoint of a running stage.
 *
 * <ol>
 *   <li>The steps that run in it are noted: a checkpoint is of use as long as the Pipeline waits for these.
 *   <li>The agent takes it and seals it; both archives are brought to the build's artifacts, each under a name that no
 *       other needs.
 *   <li>Where the stage still runs the same steps, the record names it; only then the one before the last is removed.
 * </ol>
 *
 * Whatever fails, the stage runs on and the checkpoints before stay. A refusal is said once in the build log. Used once,
 * by one thread; blocks.
 */
final class Checkpointing {

    private static final Logger LOGGER = Logger.getLogger(Checkpointing.class.getName());

    private static final long OTHER_BYTES = 64L << 20;

    /** They pass in a moment: nobody need know. */
    private static final Set<String> JUST_BUSY = Set.of(
            FailureReason.OBJECTION.name(),
            FailureReason.ENTERING.name(),
            FailureReason.KERNEL_WAIT.name(),
            FailureReason.STAGE_BUSY.name(),
            FailureReason.STAGE_ENDED.name(),
            FailureReason.STAGE_SUSPENDED.name(),
            FailureReason.GOES_ON.name(),
            FailureReason.KILLED.name(),
            FailureReason.UNKNOWN_STAGE.name());

    /** The last refusal that each stage's log has, by the stage's id. */
    private static final Map<String, String> TOLD = new ConcurrentHashMap<>();

    /** What stood against the last attempt while it was not made yet, by the stage's id. */
    private static final Map<String, String> MET = new ConcurrentHashMap<>();

    /** Why memory is written while a stage stands still, as its log has it, by the stage's id. */
    private static final Map<String, String> WHOLE = new ConcurrentHashMap<>();

    private final LiveStage live;

    Checkpointing(LiveStage live) {
        this.live = live;
    }

    /** @return whether one was made */
    boolean make() throws InterruptedException {
        StageRecord stage = running();
        try {
            return stage != null && make(stage);
        } catch (IOException | RequestAbortedException x) {
            LOGGER.log(Level.FINE, x, () -> "no checkpoint of stage " + live.id());
            return false;
        }
    }

    @CheckForNull
    private StageRecord running() {
        StageRecord stage = StageRegistry.get().find(live.id());
        boolean runs = stage != null
                && stage.state() == StageState.RUNNING
                && stage.checkpoints() != null
                && !live.ending()
                && !live.aborting();
        return runs ? stage : null;
    }

    private boolean make(StageRecord stage) throws IOException, InterruptedException {
        StepsInFlight before = StepsInFlight.of(live);
        String objection = before.objectionToCheckpoint();
        if (objection != null) {
            // As a rule it passes with the step: only one that is met twice in a row is told. Between two steps there
            // is none.
            boolean again = objection.equals(MET.put(live.id(), objection));
            return again && !before.isBetweenSteps() && not(objection);
        }
        MET.remove(live.id());
        Node node = Nodes.named(stage.node());
        HostTraits host = MovingStage.describe(node);
        Misfit obstacle = StepsOnAgent.obstacle(live);
        if (obstacle == null && (!host.root() || host.token().isEmpty())) {
            obstacle = Misfit.of(MoveObstacle.NOT_ROOT);
        }
        if (obstacle != null) {
            return not(obstacle.sentence());
        }
        StageRecord begun =
                StageRegistry.get().update(live.id(), Checkpoints.set(CheckpointFiles.begin(stage.checkpoints())));
        if (begun == null || withoutRoom(0)) {
            return false;
        }
        CheckpointedStage agent = CheckpointedStage.on(node, live.id());
        try {
            return make(begun, agent, host, before);
        } finally {
            drop(agent);
        }
    }

    private static void drop(CheckpointedStage agent) throws InterruptedException {
        try {
            agent.drop();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(
                    Level.FINE, x, () -> "the agent is away; the next checkpoint or the stage's end removes it there");
        }
    }

    private boolean make(StageRecord stage, CheckpointedStage agent, HostTraits host, StepsInFlight before)
            throws IOException, InterruptedException {
        StageCheckpoint base = stage.checkpoints().replaced();
        StageCheckpoint stays = stage.checkpoints().staying();
        // Both are read with one key at a resume.
        String key = base == null ? ImageKey.generate().export() : base.key().getPlainText();
        List<String> folders = stage.controlFolders();
        long atMillis = System.currentTimeMillis();
        long executorMillis = stage.executorMillis(atMillis);
        long most = PreemptibleConfiguration.get().storedWorkspaceBytes();
        if (most == 0) {
            return not("Workspaces are not stored (storedWorkspaceMegabytes is 0).");
        }
        String image = CheckpointFiles.image(stage.checkpoints().begun());
        String files = CheckpointFiles.files(stage.checkpoints().begun());
        Names names = new Names(
                image,
                files,
                base == null ? null : base.fullImage(),
                base == null ? null : base.fullFiles(),
                stays == null ? List.of() : List.of(stays.fullImage(), stays.fullFiles()));
        Made made = agent.take(StageLuggage.folders(stage), folders, key, names, most);
        AgentStage.Refusal refusal = made.refusal();
        if (refusal != null) {
            return !JUST_BUSY.contains(refusal.reason()) && not(refusal.sentence());
        }
        // Sealed, they have a little more than before at the most.
        if (made.luggageBytes() > most + most / 8 + OTHER_BYTES) {
            return not("Its workspace has " + StageLog.size(made.luggageBytes()) + ", more than is stored.");
        }
        String tooLarge = StageImages.tooLarge(made.archiveBytes());
        if (tooLarge != null) {
            return not(tooLarge);
        }
        if (withoutRoom(made.archiveBytes() + made.luggageBytes())) {
            return false;
        }
        boolean noted = false;
        try {
            CheckpointFiles.store(live, agent::askImage, made.archiveBytes(), image);
            CheckpointFiles.store(live, agent::askFiles, made.luggageBytes(), files);
            Map<String, Long> sizes = new HashMap<>();
            for (int i = 0; i < folders.size(); i++) {
                sizes.put(folders.get(i), made.logSizes().get(i));
            }
            Secret secret = Secret.fromString(key);
            noted = note(
                    new StageCheckpoint(
                            image,
                            secret,
                            made.archiveBytes(),
                            SealedLuggage.of(files, secret, made.luggageBytes(), made.fileBytes(), host)
                                    .against(made.filesDiffer() ? names.filesBase() : null),
                            before.ids(),
                            sizes,
                            atMillis,
                            executorMillis,
                            made.imageDiffers() ? names.imageBase() : null),
                    before);
        } catch (ArchiveRoom.ShortageException x) {
            return not(x.shortage().sentence());
        } catch (CheckpointFiles.TakenException x) {
            LOGGER.log(Level.FINE, x, () -> "no checkpoint of stage " + live.id());
            return not("The artifact store does not answer, or does not overwrite files.");
        } finally {
            // Not under the stage's lock, since a store may take long to answer.
            tidyUp(stage, List.of(image, files));
        }
        if (noted) {
            TOLD.remove(live.id());
            StageLog.line(
                    live.context(),
                    "Checkpoint: the stage stood still for " + StageLog.time(made.stopMillis()) + "; "
                            + made.processes() + " processes with " + StageLog.size(made.imageBytes())
                            + " of memory and state, and " + StageLog.size(made.fileBytes())
                            + " of files, are sealed into "
                            + StageLog.size(made.archiveBytes() + made.luggageBytes())
                            + (made.imageDiffers()
                                    ? ", since the rest has not changed since the checkpoint " + names.imageBase()
                                    : "")
                            + "."
                            + whole(made.wholeWhy()));
        }
        return noted;
    }

    /** Under the operation lock: a stage that is being suspended or ended at this moment has the word. */
    private boolean note(StageCheckpoint checkpoint, StepsInFlight before) throws IOException, InterruptedException {
        live.operation().lockInterruptibly();
        try {
            StageRecord now = running();
            if (now == null || !before.equals(StepsInFlight.of(live))) {
                return false;
            }
            Checkpoints all = now.checkpoints().with(checkpoint);
            return StageRegistry.get().update(live.id(), Checkpoints.set(all)) != null;
        } finally {
            live.operation().unlock();
        }
    }

    /** What is stored of this one goes where the record does not name it, and what earlier ones have left. */
    private static void tidyUp(StageRecord stage, List<String> own) {
        StageRecord now = StageRegistry.get().find(stage.id());
        if (now != null && now.checkpoints() != null) {
            Set<String> needed = now.checkpoints().files();
            CheckpointFiles.delete(now, name -> needed.stream().anyMatch(file -> StageImages.isOf(file, name)));
        } else {
            // Of a stage that has ended all others may be kept.
            CheckpointFiles.delete(stage, name -> own.stream().noneMatch(file -> StageImages.isOf(file, name)));
        }
    }

    private boolean withoutRoom(long bytes) throws IOException, InterruptedException {
        ArchiveRoom.Shortage shortage = ArchiveRoom.missing(live.context().get(Run.class), bytes);
        if (shortage != null) {
            not(shortage.sentence());
        }
        return shortage != null;
    }

    private boolean not(String why) {
        if (running() != null && !why.equals(TOLD.put(live.id(), why))) {
            StageLog.line(
                    live.context(), "No checkpoint is made. " + why + " The stage keeps running; tried again later.");
        }
        return false;
    }

    /** Said once. */
    private String whole(@CheckForNull String why) {
        return why == null || why.equals(WHOLE.put(live.id(), why))
                ? ""
                : " It stood still until its memory was written, since " + why + ".";
    }

    static void forget(String stageId) {
        TOLD.remove(stageId);
        MET.remove(stageId);
        WHOLE.remove(stageId);
    }
}
