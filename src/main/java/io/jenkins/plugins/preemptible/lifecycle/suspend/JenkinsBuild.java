package io.jenkins.plugins.preemptible.lifecycle.suspend;

import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.lifecycle.ToldInMemoryOnly;
import io.jenkins.plugins.preemptible.lifecycle.agents.Measured;
import io.jenkins.plugins.preemptible.lifecycle.agents.Preflights;
import io.jenkins.plugins.preemptible.lifecycle.image.SealingProgress;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.EnclosingTimeouts;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StageMarks;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsInFlight;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;

/** A Pipeline build. Used by one thread. */
final class JenkinsBuild implements StageBuild {

    private final LiveStage live;
    private StepsInFlight steps;

    JenkinsBuild(LiveStage live) {
        this.live = live;
    }

    @Override
    public String objection() throws IOException, InterruptedException {
        steps = StepsInFlight.of(live);
        return steps.objection();
    }

    @Override
    public boolean stepsChanged() throws IOException, InterruptedException {
        return !steps.equals(StepsInFlight.of(live));
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
    public void showSuspended(StageRecord stage) {
        StageMarks.suspended(live, stage, steps.external());
        EnclosingTimeouts.warn(live, steps.external());
    }

    @Override
    public void sayInMemoryOnly(String agent) throws InterruptedException {
        ToldInMemoryOnly.once(live, agent);
    }

    @Override
    public void lookAgain(StageRecord stage) {
        StageThreads.askFor(
                stage.node(),
                "looking at stage " + stage.id(),
                SuspensionSteps.BUSY_RETRY_MILLIS,
                () -> Preflights.look(stage.id()));
    }

    @Override
    public Progress progress(StageRecord stage) {
        return SealingProgress.of(live, stage.node())::close;
    }

    @Override
    public void measured(String node, long bytes, long millis) {
        Measured.of(node).dumped(bytes, millis);
    }

    @Override
    public void tell(Consumer<StageListener> event) {
        StageListener.fire(event);
    }
}
