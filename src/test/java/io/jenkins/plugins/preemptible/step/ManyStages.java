package io.jenkins.plugins.preemptible.step;

import static org.awaitility.Awaitility.await;

import hudson.FilePath;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.time.Duration;
import java.util.Objects;
import org.jenkinsci.plugins.workflow.steps.StepContext;

/**
 * Records of stages without processes, with the executor hold that real ones have.
 *
 * <p>Needs a {@code preemptible} step that waits for its executor, whose build all of them belong to.
 */
public final class ManyStages {

    private final StepContext context;
    private final Run<?, ?> run;

    /** @param waiting a step of its own executor that is in the queue */
    public ManyStages(LiveStage waiting) throws IOException, InterruptedException {
        context = waiting.context();
        run = Objects.requireNonNull(context.get(Run.class));
    }

    /** Waits until the only step there is has put itself into the queue. */
    public static ManyStages ofWaitingStep() throws IOException, InterruptedException {
        await("a step that waits")
                .atMost(Duration.ofMinutes(3))
                .until(() -> LiveStage.all().size() == 1);
        return new ManyStages(LiveStage.all().iterator().next());
    }

    public void running(int number, String node, int priority) throws Exception {
        add("running-" + number, node, priority, false);
    }

    public void suspended(int number, String node, int priority) throws Exception {
        add("suspended-" + number, node, priority, true);
    }

    private void add(String name, String node, int priority, boolean suspended) throws Exception {
        PreemptibleStep step = new PreemptibleStep();
        step.setLabel(node);
        step.setName(name);
        StepContext own = new Numbered(context);
        OwnExecutorExecution execution = new OwnExecutorExecution(own, step);
        LiveStage.register(execution.stageId(), own, new OwnExecutorHold(execution, execution.stageId()));
        StageRecord stage = StageRecord.running(
                        execution.stageId(),
                        StageRecord.Form.OWN,
                        run.getExternalizableId(),
                        name,
                        node,
                        new FilePath(run.getRootDir()).getRemote(),
                        null,
                        priority,
                        0)
                .withOwner("user:" + number(name) % 50);
        stage.opened(Pretended.enter(execution.stageId()), null);
        if (suspended) {
            Pretended.suspend(stage, System.currentTimeMillis());
        }
        HowSuspended.opened(node, false, Pretended.enter(execution.stageId()), null);
        StageRegistry.get().add(stage);
    }

    private static int number(String name) {
        return Integer.parseInt(name.substring(name.indexOf('-') + 1));
    }

    /** The context of another step, equal to nothing but itself. */
    private static final class Numbered extends StepContext {
        private static final long serialVersionUID = 1L;
        private final StepContext like;

        Numbered(StepContext like) {
            this.like = like;
        }

        @Override
        public <T> T get(Class<T> key) throws IOException, InterruptedException {
            return like.get(key);
        }

        @Override
        public void onSuccess(Object result) {}

        @Override
        public boolean isReady() {
            return true;
        }

        @Override
        public com.google.common.util.concurrent.ListenableFuture<Void> saveState() {
            return like.saveState();
        }

        @Override
        public void setResult(hudson.model.Result result) {}

        @Override
        public org.jenkinsci.plugins.workflow.steps.BodyInvoker newBodyInvoker() {
            return like.newBodyInvoker();
        }

        @Override
        public boolean hasBody() {
            return like.hasBody();
        }

        @Override
        public void onFailure(Throwable t) {}

        @Override
        public boolean equals(Object other) {
            return this == other;
        }

        @Override
        public int hashCode() {
            return System.identityHashCode(this);
        }
    }
}
