package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Node;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.lifecycle.agents.LeasedWorkspaces;
import io.jenkins.plugins.preemptible.lifecycle.agents.Measured;
import io.jenkins.plugins.preemptible.lifecycle.image.ImageGoneException;
import io.jenkins.plugins.preemptible.lifecycle.image.StageImages;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StageMarks;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.StepsInFlight;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.view.ResumedStageAction;
import java.io.IOException;
import java.util.List;
import java.util.Optional;
import java.util.function.Consumer;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.BodyExecution;

/** A Pipeline build, an executor of Jenkins, and an image among the build's artifacts. */
record JenkinsResumeSide(
        LiveStage live, Executor executor, @CheckForNull Restorer restorer) implements ResumeSide {

    @Override
    public StageAgent agent() throws IOException {
        return itsAgent();
    }

    private AgentStage itsAgent() throws IOException {
        return AgentStage.on(executor.getOwner().getNode(), live.id());
    }

    @Override
    public Optional<AgentStage.Restore> restoreElsewhere(StageRecord stage) throws IOException, InterruptedException {
        return restorer == null ? Optional.empty() : Optional.of(restorer.restore(live, stage, executor));
    }

    @Override
    public Consumer<StageRecord> runsHere() {
        Node node = executor.getOwner().getNode();
        return restorer == null || node == null ? stage -> {} : StageChanges.runsOn(node, restorer.hostToken(executor));
    }

    @Override
    public void ran(StageRecord before) throws InterruptedException {
        if (restorer != null) {
            restorer.ran(live, before, executor);
        }
    }

    @Override
    public String executorShown() {
        return executor.getOwner().getDisplayName() + " #" + executor.getNumber();
    }

    @Override
    public void leaseWorkspace(StageRecord stage) throws IOException, InterruptedException {
        Computer computer = executor.getOwner();
        if (stage.form() == StageRecord.Form.OWN
                && live.leaseOn(computer) == null
                && !LeasedWorkspaces.lease(live, computer, workspace(stage))) {
            throw new Restorer.PostponedException("Another build has this stage's workspace.");
        }
    }

    private FilePath workspace(StageRecord stage) throws IOException {
        Node node = executor.getOwner().getNode();
        FilePath workspace = node == null ? null : node.createPath(stage.workspace());
        if (workspace == null) {
            throw new IOException("the agent is offline");
        }
        return workspace;
    }

    @Override
    public void fetchImage(StageRecord stage) throws IOException, InterruptedException {
        Run<?, ?> run = live.context().get(Run.class);
        if (run == null) {
            throw new ImageGoneException("the build that has the image is gone");
        }
        StageImages.fetch(run, stage, itsAgent().prepareExchange());
    }

    @Override
    public boolean deleteImage(StageRecord stage) throws IOException, InterruptedException {
        Run<?, ?> run = live.context().get(Run.class);
        return run == null || StageImages.delete(run, stage.id());
    }

    @Override
    public void showResumed(ResumedStageAction how) throws IOException, InterruptedException {
        List<FlowNode> inFlight = StepsInFlight.of(live).external();
        StageMarks.resumed(live, inFlight);
        StageMarks.went(live, how, inFlight);
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
    public void measured(String node, long bytes, long millis) {
        Measured.of(restorer == null ? node : executor.getOwner().getName()).restored(bytes, millis);
    }

    @Override
    public void findOut() {
        Sealing.takeUp(live.id());
    }

    @Override
    public boolean lost() throws IOException, InterruptedException {
        return Sealing.lost(live);
    }

    @Override
    public boolean mayGoBack(StageRecord stage) {
        return Rollback.isPossible(stage);
    }

    @Override
    public boolean goBack() throws IOException, InterruptedException {
        return Rollback.of(live, Rollback.Loss.GONE);
    }

    @Override
    public boolean fail(String why) {
        BodyExecution body = live.body();
        if (body != null) {
            FailedResume.end(live, body, why);
        }
        return body != null;
    }

    @Override
    public void tell(Consumer<StageListener> event) {
        StageListener.fire(event);
    }
}
