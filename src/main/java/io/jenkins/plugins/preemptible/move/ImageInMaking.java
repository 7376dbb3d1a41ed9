package io.jenkins.plugins.preemptible.move;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.image.GrowingArchive;
import io.jenkins.plugins.preemptible.lifecycle.image.ImageGoneException;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The image of one suspension, which is being made, or was a moment ago.
 *
 * @param stage as it was when its image was seen to be made
 */
record ImageInMaking(StageRecord stage) {

    private static final Logger LOGGER = Logger.getLogger(ImageInMaking.class.getName());
    /** Much more than an image that is about to be stored needs for its first bytes. */
    private static final long BEGINNING_NANOS = TimeUnit.SECONDS.toNanos(10);

    /** Whether it is that stage's image, too: made anew, it has another key. */
    boolean isOf(StageRecord now) {
        Secret key = stage.imageKey();
        return now.suspensions() == stage.suspensions() && key != null && key.equals(now.imageKey());
    }

    /** The stage, as long as it is this image that it needs; else null. */
    @CheckForNull
    StageRecord wanted() {
        StageRecord now = StageRegistry.get().find(stage.id());
        boolean suspended = now != null && (now.state() == StageState.SUSPENDED || now.state() == StageState.RESUMING);
        return suspended && isOf(now) ? now : null;
    }

    /**
     * The first bytes, as soon as they are there.
     *
     * @return fewer only when it has no more
     * @throws ImageGoneException when the image comes to nothing, or takes long: it is tried when it is sealed
     */
    byte[] beginning(LiveStage live, int bytes) throws ImageGoneException, InterruptedException {
        long began = System.nanoTime();
        try (GrowingArchive image = StageImages.growing(live)) {
            byte[] beginning =
                    image.await(bytes, () -> wanted() != null && System.nanoTime() - began < BEGINNING_NANOS);
            if (beginning != null) {
                return beginning;
            }
        } catch (IOException x) {
            LOGGER.log(Level.FINE, x, () -> "the image of " + stage + " was given up while it was made");
        }
        throw new ImageGoneException("the image is not there yet");
    }
}
