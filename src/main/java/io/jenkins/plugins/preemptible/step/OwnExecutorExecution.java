package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.AbortException;
import hudson.EnvVars;
import hudson.Extension;
import hudson.FilePath;
import hudson.LauncherDecorator;
import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.Result;
import hudson.model.Run;
import hudson.model.TaskListener;
import hudson.model.TopLevelItem;
import hudson.model.labels.LabelAtom;
import hudson.model.queue.QueueListener;
import hudson.security.ACL;
import hudson.security.ACLContext;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.UUID;
import jenkins.model.CauseOfInterruption;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.actions.QueueItemAction;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.BodyExecution;
import org.jenkinsci.plugins.workflow.steps.BodyInvoker;
import org.jenkinsci.plugins.workflow.steps.EnvironmentExpander;
import org.jenkinsci.plugins.workflow.steps.FlowInterruptedException;
import org.jenkinsci.plugins.workflow.steps.StepContext;
import org.jenkinsci.plugins.workflow.steps.StepExecution;
import org.jenkinsci.plugins.workflow.support.actions.WorkspaceActionImpl;

/**
 * {@code preemptible(label: …) { }}: a stage that acquires its executor itself.
 *
 * <ol>
 *   <li>{@link #start} puts a {@link StageTask} into the queue; on the executor, {@link #begin} takes a workspace,
 *       opens the sandbox and starts the body.
 *   <li>While the stage is suspended this execution waits as it is: body, steps and workspace stay, the executor does
 *       not.
 *   <li>When the body ends, executor, workspace and sandbox are given back and the step ends as the body did.
 * </ol>
 */
final class OwnExecutorExecution extends StepExecution {

    private static final long serialVersionUID = 1L;

    private static final int MOST_RERUNS = 3;

    private final StageSettings settings;
    /** Another one each time that the body is run from its beginning. */
    private String stageId;
    /** How often the body was run from its beginning again. */
    private int reruns;
    /** Set when the body started. */
    @CheckForNull
    private BodyExecution body;
    /** Set while we cancel our own queue item, so that its leaving is not taken for a user's cancel. */
    private transient volatile boolean withdrawing;

    OwnExecutorExecution(StepContext context, PreemptibleStep step) throws IOException, InterruptedException {
        super(context);
        settings = StageSettings.of(step, context);
        stageId = StageId.create(settings.name()).value();
    }

    String stageId() {
        return stageId;
    }

    @Override
    public boolean start() throws Exception {
        String refusal = Surroundings.refusal(getContext().get(FlowNode.class), false);
        if (refusal != null) {
            throw new AbortException(refusal);
        }
        refuseUnknownLabel();
        enqueue();
        return false;
    }

    private void enqueue() throws IOException, InterruptedException {
        LiveStage.register(stageId, getContext(), new OwnExecutorHold(this, stageId));
        boolean queued = false;
        try {
            Queue.Item item = Queue.getInstance().schedule2(firstTask(), 0).getItem();
            if (item == null) {
                throw new AbortException("The queue does not take the preemptible stage " + settings.name());
            }
            getContext().get(FlowNode.class).addOrReplaceAction(new InQueue(item.getId()));
            queued = true;
        } finally {
            if (!queued) {
                StageBody.ended(stageId, null);
            }
        }
    }

    /** Work that is thrown away over and over would never be done. */
    boolean mayRunAgain() {
        return body != null && reruns < MOST_RERUNS;
    }

    /** Ends the body, for {@link #again}. */
    void endToRunAgain(String why) {
        BodyExecution running = body;
        if (running != null) {
            StageLog.line(getContext(), why);
            running.cancel(new FlowInterruptedException(Result.ABORTED, false, new RunAgain(stageId)));
        }
    }

    /** The body has ended, was cleaned up, and begins anew as another stage of the same name. */
    void again() {
        body = null;
        reruns++;
        stageId = StageId.create(settings.name()).value();
        try {
            enqueue();
            getContext().saveState();
        } catch (IOException | InterruptedException | RuntimeException x) {
            getContext().onFailure(x);
        }
    }

    private void refuseUnknownLabel() throws AbortException {
        if (settings.label() == null) {
            return;
        }
        Label label = Label.get(settings.label());
        if (label != null && label.getNodes().isEmpty() && label.getClouds().isEmpty()) {
            throw new AbortException("There is no agent with the label '" + settings.label()
                    + "', and no cloud that could bring one. Correct the label of preemptible, or give it to an agent."
                    + nearest());
        }
    }

    // The nearest one only: the others are nothing to everybody who reads the log.
    private String nearest() {
        LabelAtom near = LabelAtom.findNearest(settings.label());
        return near == null ? "" : " Did you mean '" + near.getName() + "'?";
    }

    private StageTask firstTask() throws IOException, InterruptedException {
        return new StageTask(
                getContext(),
                stageId,
                getContext().get(Run.class).getExternalizableId(),
                settings.name(),
                settings.priority(),
                settings.auth(),
                settings.label(),
                null,
                false);
    }

    /** The task that brings a stage with a node back to an executor there. */
    StageTask task(StageRecord stage, boolean continued) {
        return task(stage, stage.node(), continued);
    }

    /** The same on an agent of that name. */
    StageTask task(StageRecord stage, String node, boolean continued) {
        return new StageTask(
                getContext(),
                stageId,
                stage.runId(),
                settings.name(),
                stage.priority(),
                settings.auth(),
                settings.label(),
                node,
                continued);
    }

    /** Whether the stage might have begun on that agent. */
    boolean mayRunOn(Node agent) {
        Label label = settings.label() == null ? null : Label.get(settings.label());
        return label == null ? agent.getMode() == Node.Mode.NORMAL : label.contains(agent);
    }

    void withdrawing(boolean now) {
        withdrawing = now;
    }

    boolean withdrawing() {
        return withdrawing;
    }

    /** On the executor's thread: starts the body. */
    boolean begin(Executor executor) throws Exception {
        StepContext context = getContext();
        TaskListener listener = context.get(TaskListener.class);
        Run<?, ?> run = context.get(Run.class);
        FlowNode block = context.get(FlowNode.class);
        LiveStage live = LiveStage.find(stageId);
        if (run == null || listener == null || live == null || live.ending()) {
            return false;
        }
        Computer computer = executor.getOwner();
        Node node = computer.getNode();
        if (node == null) {
            throw new AbortException("The agent " + computer.getDisplayName() + " was removed");
        }
        if (!(run.getParent() instanceof TopLevelItem)) {
            throw new AbortException(
                    run.getParent().getFullDisplayName() + " is no top-level job, so it has no workspace");
        }
        FilePath workspace = node.getWorkspaceFor((TopLevelItem) run.getParent());
        if (workspace == null) {
            throw new AbortException("The agent " + node.getDisplayName() + " is offline");
        }
        WorkspaceList.Lease lease = computer.getWorkspaceList().allocate(workspace);
        live.lease(lease, computer);
        boolean started = false;
        try {
            block.addOrReplaceAction(new WorkspaceActionImpl(lease.path, block));
            StageLog.line(context, "Running on " + node.getDisplayName() + " in " + lease.path.getRemote());
            String cookie = UUID.randomUUID().toString();
            StageOpening.open(
                    settings.record(run, stageId, StageRecord.Form.OWN, node, lease.path, null)
                            .withCookie(cookie),
                    settings.closeConnections(),
                    node,
                    lease.path,
                    context);
            if (live.ending()) {
                // Aborted while the sandbox was being opened.
                return false;
            }
            body = context.newBodyInvoker()
                    .withContexts(
                            environment(executor, node, lease.path, listener, cookie),
                            EnvironmentExpander.merge(
                                    new MovedEnvironment(stageId, node.getNodeName()),
                                    context.get(EnvironmentExpander.class)),
                            new StageContext(stageId, block.getId(), node.getNodeName(), lease.path.getRemote()),
                            BodyInvoker.mergeLauncherDecorators(
                                    context.get(LauncherDecorator.class), new SandboxDecorator(stageId)))
                    .withCallback(new OwnBody(this, stageId))
                    .start();
            live.body(body);
            context.saveState();
            started = true;
        } finally {
            // A controller that goes down begins it again when it is back.
            if (!started && !Jenkins.get().isTerminating()) {
                StageBody.ended(live, run);
            }
        }
        return true;
    }

    private static EnvVars environment(
            Executor executor, Node node, FilePath workspace, TaskListener listener, String cookie)
            throws IOException, InterruptedException {
        EnvVars env = MovedEnvironment.of(executor.getOwner(), node, listener);
        env.put(StageRecord.COOKIE, cookie);
        env.put("EXECUTOR_NUMBER", String.valueOf(executor.getNumber()));
        env.put("WORKSPACE", workspace.getRemote());
        FilePath temporary = WorkspaceList.tempDir(workspace);
        if (temporary != null) {
            env.put("WORKSPACE_TMP", temporary.getRemote());
        }
        return env;
    }

    /** A user pressed the executor's stop button. */
    void interrupted(@CheckForNull Executor executor) {
        BodyExecution running = body;
        if (running != null) {
            running.cancel(
                    executor == null
                            ? new CauseOfInterruption[0]
                            : executor.getCausesOfInterruption().toArray(new CauseOfInterruption[0]));
        }
    }

    @Override
    public void stop(@NonNull Throwable cause) throws Exception {
        withdrawing = true;
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            Queue.getInstance().cancel(firstTask());
        }
        StageBody.ended(stageId, getContext().get(Run.class));
        getContext().onFailure(cause);
    }

    @Override
    public void onResume() {
        LiveStage live = LiveStage.register(stageId, getContext(), new OwnExecutorHold(this, stageId));
        live.body(body);
        StageRecord stage = StageRegistry.get().find(stageId);
        if (body == null) {
            requeueIfLost();
        } else if (stage != null) {
            StageThreads.submitFor(
                    stage.node(), "taking up stage " + stageId, () -> new AfterRestart(live, this).takeUp());
        }
    }

    /** The item of a stage that has not begun is in queue.xml, unless the controller died before it was written. */
    private void requeueIfLost() {
        // A record without a body: the controller died while the stage was being opened.
        StageRegistry.get().firstTurnDone(stageId);
        try {
            StageTask task = firstTask();
            if (!Queue.getInstance().contains(task)) {
                Queue.getInstance().schedule2(task, 0);
            }
        } catch (IOException | InterruptedException | RuntimeException x) {
            StageBody.ended(stageId, null);
            getContext().onFailure(x);
        }
    }

    @Override
    public String getStatus() {
        StageRecord stage = StageRegistry.get().find(stageId);
        if (stage == null) {
            return "waiting for an executor";
        }
        return stage.state() == StageState.RUNNING
                ? "running on " + stage.node()
                // Shown to everybody who may read the build, as its log is.
                : stage.state().toString();
    }

    /** Links the step to its queue item, as {@code node} does. */
    private static final class InQueue extends QueueItemAction {
        private final long id;

        InQueue(long id) {
            this.id = id;
        }

        @Override
        public Queue.Item itemInQueue() {
            return Queue.getInstance().getItem(id);
        }
    }

    /** Hears when a user cancels a stage's item in the queue: without an executor ever coming it would wait for ever. */
    @Extension
    public static final class Cancelled extends QueueListener {
        @Override
        public void onLeft(Queue.LeftItem item) {
            if (!item.isCancelled() || !(item.task instanceof StageTask)) {
                return;
            }
            LiveStage live = LiveStage.find(((StageTask) item.task).stageId());
            if (live == null || !(live.hold() instanceof OwnExecutorHold)) {
                return;
            }
            if (((OwnExecutorHold) live.hold()).withdrawing()) {
                return;
            }
            StageRecord stage = StageRegistry.get().find(live.id());
            boolean suspended = stage != null && stage.suspended();
            // Under the queue's lock: before the body has ended, an evaluation would queue the stage again.
            if (!suspended || live.markAborting()) {
                StageThreads.submit("cancelling " + item.task, () -> cancelled(live, suspended));
            }
        }

        private static void cancelled(LiveStage live, boolean marked) throws IOException, InterruptedException {
            if (live.ending() || !marked && live.aborting()) {
                return;
            }
            FlowInterruptedException cause =
                    new FlowInterruptedException(Result.ABORTED, true, new QueueItemCancelled());
            BodyExecution body = live.body();
            if (body == null) {
                StageBody.ended(live.id(), live.context().get(Run.class));
                live.context().onFailure(cause);
            } else {
                body.cancel(cause);
            }
        }
    }

    /** Why a stage whose queue item was cancelled ended. */
    public static final class QueueItemCancelled extends CauseOfInterruption {
        private static final long serialVersionUID = 1L;

        @Override
        public String getShortDescription() {
            return Messages.OwnExecutorExecution_queueItemCancelled();
        }
    }
}
