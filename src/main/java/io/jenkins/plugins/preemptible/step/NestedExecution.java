package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.AbortException;
import hudson.FilePath;
import hudson.LauncherDecorator;
import hudson.model.Executor;
import hudson.model.Node;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.container.ContainerAround;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.lifecycle.Sealing;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.PlaceholderAccess;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.PlaceholderRelease;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.BodyExecution;
import org.jenkinsci.plugins.workflow.steps.StepContext;
import org.jenkinsci.plugins.workflow.steps.StepExecution;
import org.jenkinsci.plugins.workflow.support.steps.ExecutorStepExecution.PlaceholderTask;

/**
 * {@code node { … preemptible { } … }}: a stage that borrows the executor of the block around it.
 *
 * <ol>
 *   <li>{@link #start} opens the sandbox off the Pipeline's thread and starts the body.
 *   <li>Suspending gives the node block's executor away, resuming takes it again, on the same agent.
 *   <li>Workspace, environment and everything else remain those of the node block.
 * </ol>
 */
final class NestedExecution extends StepExecution {

    private static final long serialVersionUID = 1L;
    private static final Logger LOGGER = Logger.getLogger(NestedExecution.class.getName());

    private final StageSettings settings;
    private final String stageId;

    @CheckForNull
    private BodyExecution body;

    NestedExecution(StepContext context, PreemptibleStep step) throws IOException, InterruptedException {
        super(context);
        settings = StageSettings.of(step, context);
        stageId = StageId.create(settings.name()).value();
    }

    @Override
    public boolean start() throws Exception {
        String refusal = Surroundings.refusal(getContext().get(FlowNode.class), true);
        if (refusal != null) {
            throw new AbortException(refusal);
        }
        if (settings.checkpointMinutes() > 0) {
            StageLog.line(
                    getContext(),
                    "No checkpoints are made of this stage, since its executor is that of a node block. Use"
                            + " preemptible(label: …) in its place.");
        }
        begin();
        return false;
    }

    private void begin() {
        LiveStage live = LiveStage.register(stageId, getContext(), new NestedExecutorHold(stageId));
        StageThreads.submit("starting stage " + stageId, () -> {
            try {
                Node node = getContext().get(Node.class);
                StageThreads.submitFor(node == null ? "" : node.getNodeName(), "starting stage " + stageId, () -> {
                    try {
                        begin(live);
                    } catch (Exception | Error x) {
                        notBegun(live, x);
                    }
                });
            } catch (Exception | Error x) {
                notBegun(live, x);
            }
        });
    }

    private void notBegun(LiveStage live, Throwable why) {
        // A controller that goes down begins it again when it is back.
        Jenkins jenkins = Jenkins.getInstanceOrNull();
        if (jenkins != null && !jenkins.isTerminating()) {
            StageBody.ended(live, null);
            getContext().onFailure(why);
        }
    }

    private void begin(LiveStage live) throws Exception {
        StepContext context = getContext();
        FlowNode block = context.get(FlowNode.class);
        FilePath workspace = context.get(FilePath.class);
        Node node = context.get(Node.class);
        Run<?, ?> run = context.get(Run.class);
        PlaceholderTask placeholder = PlaceholderAccess.on(context.get(Executor.class));
        if (run == null || block == null || workspace == null || node == null) {
            throw new AbortException("preemptible { } without a label needs a node { } with a workspace around it");
        }
        StepContext owner = PlaceholderAccess.context(placeholder);
        StageRecord stage = settings.record(run, stageId, StageRecord.Form.NESTED, node, workspace, owner);
        String problem = owner == null && PlaceholderAccess.problem() == null
                ? "the executor around it is not that of a node { } block"
                : PlaceholderAccess.problem();
        LauncherDecorator around = context.get(LauncherDecorator.class);
        boolean inContainer = Surroundings.isInDocker(block);
        if (problem == null) {
            ContainerRef container =
                    inContainer && around != null ? ContainerAround.find(around, node, workspace) : null;
            StageOpening.open(stage, settings.closeConnections(), node, workspace, context, container);
        } else {
            stage.opened(null, problem);
            StageRegistry.get().add(stage);
            StageLog.line(context, "This stage runs, but cannot be suspended: " + problem);
        }
        if (live.ending()) {
            // Aborted while the sandbox was being opened.
            StageBody.ended(live, null);
            return;
        }
        body = context.newBodyInvoker()
                .withContext(SandboxDecorator.around(around, stageId, inContainer))
                .withCallback(new StageBody(stageId))
                .start();
        live.body(body);
        context.saveState();
    }

    @Override
    public void stop(@NonNull Throwable cause) throws Exception {
        BodyExecution running = body;
        if (running == null || !running.cancel(cause)) {
            StageBody.ended(stageId, null);
            getContext().onFailure(cause);
        }
    }

    /** Pipeline has given the node block its executor again by now; a suspended stage gives it away at once. */
    @Override
    public void onResume() {
        if (body == null) {
            // The controller died while the stage was being opened: nobody else begins it.
            begin();
            return;
        }
        LiveStage live = LiveStage.register(stageId, getContext(), new NestedExecutorHold(stageId));
        live.body(body);
        StageThreads.submitFor(StageThreads.agentOf(stageId), "taking up stage " + stageId, () -> {
            StageRecord stage = StageRegistry.get().find(stageId);
            if (stage == null) {
                return;
            }
            try {
                AfterRestart.Interrupted.settle(stage);
                PlaceholderRelease.afterFirstTurn(live);
            } catch (IOException x) {
                LOGGER.log(Level.WARNING, x, () -> "cannot give the executor of " + stage + " away again");
            } finally {
                StageRegistry.get().firstTurnDone(stageId);
                Sealing.takeUp(stageId);
            }
        });
    }

    @Override
    public String getStatus() {
        StageRecord stage = StageRegistry.get().find(stageId);
        return stage == null ? "starting" : stage.state() + " on " + stage.node();
    }
}
