package io.jenkins.plugins.preemptible.checkpoint;

import hudson.Extension;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import java.io.IOException;
import java.util.List;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The files of checkpoints among a build's artifacts.
 *
 * <ol>
 *   <li>Each checkpoint has names of its own, by its number: one that is being stored never spoils another.
 *   <li>When the stage ends they go with all that is stored of it, see {@code Ending}.
 *   <li>Of a stage that could not be restored they stay with the build: one of them is its image, and may refer to another.
 * </ol>
 */
@Extension
public final class CheckpointFiles implements StageListener {

    private static final Logger LOGGER = Logger.getLogger(CheckpointFiles.class.getName());
    private static final String PREFIX = "checkpoint-";

    static String image(int number) {
        return PREFIX + number + ".preempt";
    }

    static String files(int number) {
        return PREFIX + number + ".workspace";
    }

    /** Removes them where that can be done; nothing depends on it. */
    static void delete(LiveStage live, List<String> files) throws InterruptedException {
        try {
            Run<?, ?> run = live.context().get(Run.class);
            if (run != null) {
                files.forEach(file -> StageImages.delete(run, live.id(), file));
            }
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "the build of stage " + live.id() + " is gone, its artifacts with it");
        }
    }

    @Override
    public void onEnded(StageEnded event) {
        Checkpointing.forget(event.stage().id());
    }
}
