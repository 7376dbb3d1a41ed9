package io.jenkins.plugins.preemptible.checkpoint;

import hudson.Extension;
import hudson.model.Run;
import hudson.security.ACL;
import hudson.security.ACLContext;
import io.jenkins.plugins.preemptible.agent.Pieces;
import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.stage.Checkpoints;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;
import java.util.Set;
import java.util.function.Predicate;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The files of checkpoints among a build's artifacts.
 *
 * <ol>
 *   <li>Eight names are used in turn, but those that the checkpoints of a record need: one that is being stored never spoils
 *       another.
 *   <li>What no checkpoint needs is removed. An object store cannot remove one file: an empty one takes its place, until the
 *       name is used again. That is several checkpoints later, so what a store is late to carry out spoils none.
 *   <li>When the stage ends they go with all that is stored of it, see {@code Ending}. Of a stage that could not be restored they
 *       stay with the build: one of them is its image, and may refer to another.
 * </ol>
 */
@Extension
public final class CheckpointFiles implements StageListener {

    private static final Logger LOGGER = Logger.getLogger(CheckpointFiles.class.getName());
    private static final String PREFIX = "checkpoint-";

    /**
     * Two checkpoints need six of them at the most, where each has an image and a workspace that refer to two other ones; one is
     * for the next checkpoint, and one for that after a failure.
     */
    private static final int NAMES = 8;

    static String image(int number) {
        return PREFIX + name(number) + ".preempt";
    }

    static String files(int number) {
        return PREFIX + name(number) + ".workspace";
    }

    private static int name(int number) {
        return (number - 1) % NAMES + 1;
    }

    /** Begins the next one, under names that none of them needs. */
    static Checkpoints begin(Checkpoints checkpoints) {
        Set<String> needed = checkpoints.files();
        Checkpoints next = checkpoints.begin();
        while (needed.contains(image(next.begun())) || needed.contains(files(next.begun()))) {
            next = next.begin();
        }
        return next;
    }

    /** Something else is among the artifacts by the name of a checkpoint's file, and cannot be removed. */
    static final class TakenException extends IOException {
        private static final long serialVersionUID = 1L;

        TakenException(String file) {
            super("an earlier " + file + " is still among the artifacts");
        }
    }

    /**
     * Archives one of a checkpoint's files.
     *
     * @throws TakenException before anything is archived: parts of the earlier file would be taken for parts of this one
     */
    static void store(LiveStage live, Pieces source, long bytes, String file) throws IOException, InterruptedException {
        Run<?, ?> run = live.context().get(Run.class);
        if (run != null && !StageImages.deleteOrEmpty(run, live.id(), file)) {
            throw new TakenException(file);
        }
        StageImages.store(live, source, bytes, file);
    }

    /** Removes those that are not needed, where that can be done; nothing depends on it. */
    static void delete(StageRecord stage, Predicate<String> isNeeded) {
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            Run<?, ?> run = Run.fromExternalizableId(stage.runId());
            if (run != null) {
                StageImages.deleteOrEmpty(run, stage.id(), name -> name.startsWith(PREFIX) && !isNeeded.test(name));
            }
        } catch (IllegalArgumentException x) {
            LOGGER.log(Level.FINE, x, () -> "no build of " + stage);
        }
    }

    @Override
    public void onEnded(StageEnded event) {
        Checkpointing.forget(event.stage().id());
        LostStagesWithoutCheckpoints.forget(event.stage().id());
    }
}
