package io.jenkins.plugins.preemptible.lifecycle.suspend;

import hudson.model.Run;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.lifecycle.Sealing;
import io.jenkins.plugins.preemptible.lifecycle.image.ArchiveRoom;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.luggage.StageLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.ImagePath;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;

/** An image among the artifacts of the stage's build. */
record JenkinsImage(LiveStage live) implements StageImage {

    @Override
    public Secret newKey() {
        return Secret.fromString(ImageKey.generate().export());
    }

    @Override
    public String tooLarge(long bytes) {
        return StageImages.tooLarge(bytes);
    }

    @Override
    public String shortage(long bytes) throws IOException, InterruptedException {
        ArchiveRoom.Shortage full = ArchiveRoom.missing(live.context().get(Run.class), bytes);
        return full == null ? null : full.sentence();
    }

    @Override
    public void store(StageAgent agent, long bytes) throws IOException, InterruptedException {
        StageImages.store(live, agent, bytes);
    }

    @Override
    public SealedLuggage storeLuggage(StageRecord stage) throws IOException, InterruptedException {
        StageLuggage.Packed packed = StageLuggage.pack(live, stage);
        return packed == null ? null : StageLuggage.store(live, packed, ImagePath.LUGGAGE);
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
    public void findOut() {
        Sealing.takeUp(live.id());
    }

    @Override
    public void makeLater(StageRecord stage, long delayMillis) {
        Sealing.begin(live, stage, delayMillis);
    }
}
