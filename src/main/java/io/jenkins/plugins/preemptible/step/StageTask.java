package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.model.Executor;
import hudson.model.Item;
import hudson.model.Job;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.ResourceList;
import hudson.model.Run;
import hudson.model.User;
import hudson.model.queue.CauseOfBlockage;
import hudson.model.queue.QueueTaskDispatcher;
import hudson.model.queue.SubTask;
import hudson.security.ACL;
import hudson.security.ACLContext;
import hudson.security.AccessControlled;
import hudson.security.Permission;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.lifecycle.agents.OtherPlugins;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.move.MoveTargets;
import io.jenkins.plugins.preemptible.priority.OwnPriority;
import java.io.IOException;
import java.io.Serializable;
import java.util.Collection;
import java.util.List;
import java.util.Set;
import jenkins.model.Jenkins;
import jenkins.model.queue.AsynchronousExecution;
import jenkins.security.QueueItemAuthenticator;
import jenkins.security.QueueItemAuthenticatorProvider;
import org.jenkinsci.plugins.durabletask.executors.ContinuableExecutable;
import org.jenkinsci.plugins.durabletask.executors.ContinuedTask;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.steps.StepContext;
import org.kohsuke.stapler.export.ExportedBean;
import org.springframework.security.access.AccessDeniedException;
import org.springframework.security.core.Authentication;
import org.springframework.security.core.userdetails.UsernameNotFoundException;

/**
 * An own-executor stage's place in the queue, at its start and at every resume.
 *
 * <ol>
 *   <li>Equal by the step's context, so that the queue never holds a stage twice.
 *   <li>{@link #run} hands the executor to the stage and throws the {@link AsynchronousExecution} that keeps it.
 *   <li>Only XStream-safe fields: the queue writes it to {@code queue.xml} and reads it before any build is loaded.
 * </ol>
 *
 * AccessControlled, since otherwise the queue would neither show nor persist it.
 */
public final class StageTask implements ContinuedTask, AccessControlled, OwnPriority, Serializable {

    private static final long serialVersionUID = 1L;

    private final StepContext context;
    private final String stageId;
    /** Of a stage that has not begun; the record of one that has knows better. */
    private volatile String runId;

    private final String stageName;
    private final int priority;
    /** Login of the build's user, null = SYSTEM. */
    @CheckForNull
    private final String auth;

    @CheckForNull
    private final String label;
    /** Node name once the stage has a node, null before; the empty name is the built-in node's. */
    @CheckForNull
    private final String node;
    /** Set when a stage that runs takes its executor again after a restart of the controller. */
    private final boolean continued;
    /** Set when it may be resumed on any agent that fits. False in the queues of versions that knew no such thing. */
    private boolean anywhere;

    StageTask(
            StepContext context,
            String stageId,
            String runId,
            String stageName,
            int priority,
            @CheckForNull String auth,
            @CheckForNull String label,
            @CheckForNull String node,
            boolean continued) {
        this.context = context;
        this.stageId = stageId;
        this.runId = runId;
        this.stageName = stageName;
        this.priority = priority;
        this.auth = auth;
        this.label = label;
        this.node = node;
        this.continued = continued;
    }

    public String stageId() {
        return stageId;
    }

    /** Before it is queued: any agent that fits may take it, and its label counts as demand for one. */
    StageTask anywhere() {
        anywhere = true;
        return this;
    }

    /** Lower is higher. */
    @Override
    public int priority() {
        return priority;
    }

    /** Whether the stage has run before and is resumed by this item. */
    public boolean resumes() {
        return node != null;
    }

    /** The step that wants the executor; null when its build is gone. Off the queue's lock: it may load the build. */
    @CheckForNull
    public FlowNode step() throws IOException, InterruptedException {
        return context.get(FlowNode.class);
    }

    /** Only a stage that runs may hold everybody else off its agent; one that is to be resumed waits its turn. */
    @Override
    public boolean isContinued() {
        return continued;
    }

    @CheckForNull
    String node() {
        return node;
    }

    @Override
    public Queue.Executable createExecutable() {
        return new StageExecutable(this);
    }

    @Override
    public Label getAssignedLabel() {
        if (node != null && !anywhere) {
            Node found = Nodes.named(node);
            // A label that nothing has keeps the item waiting until the agent is back.
            return found == null ? Label.get(node) : found.getSelfLabel();
        }
        return label == null ? null : Label.get(label);
    }

    @Override
    public Node getLastBuiltOn() {
        return node == null ? null : Jenkins.get().getNode(node);
    }

    @Override
    public boolean isConcurrentBuild() {
        return false;
    }

    @Override
    public Collection<? extends SubTask> getSubTasks() {
        return Set.of(this);
    }

    @Override
    public Object getSameNodeConstraint() {
        return null;
    }

    @Override
    public ResourceList getResourceList() {
        return new ResourceList();
    }

    @NonNull
    @Override
    public Queue.Task getOwnerTask() {
        Job<?, ?> job = job();
        return job instanceof Queue.Task ? (Queue.Task) job : this;
    }

    @Override
    public Queue.Executable getOwnerExecutable() {
        Run<?, ?> run = ownerRun();
        return run instanceof Queue.Executable ? (Queue.Executable) run : null;
    }

    @CheckForNull
    public Run<?, ?> ownerRun() {
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            return Run.fromExternalizableId(runId());
        } catch (AccessDeniedException | IllegalArgumentException x) {
            return null;
        }
    }

    public String runId() {
        StageRecord stage = StageRegistry.get().find(stageId);
        return stage == null ? runId : stage.runId();
    }

    private String jobName() {
        String id = runId();
        return id.substring(0, id.lastIndexOf('#'));
    }

    /** Another full name for a job, perhaps the stage's. */
    void jobMoved(String from, String to) {
        String id = runId;
        if (id.startsWith(from + '#')) {
            runId = to + id.substring(from.length());
        }
    }

    @CheckForNull
    private Job<?, ?> job() {
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            return Jenkins.get().getItemByFullName(jobName(), Job.class);
        }
    }

    /** Never equal to a job's name: Priority Sorter keys by it. */
    @Override
    public String getName() {
        return "preemptible stage " + stageId;
    }

    /** On the list of executors, too, where it stays after the resume. */
    @Override
    public String getDisplayName() {
        String build = runId().replace("#", " #");
        StageRecord stage = StageRegistry.get().find(stageId);
        boolean runs = stage != null && !stage.suspended();
        return resumes() && !runs
                ? Messages.StageTask_Resume(stageName, build)
                : Messages.StageTask_Run(stageName, build);
    }

    @Override
    public String getFullDisplayName() {
        return getDisplayName();
    }

    @Override
    public String getUrl() {
        Job<?, ?> job = job();
        String id = runId();
        return job == null ? "" : job.getUrl() + id.substring(id.lastIndexOf('#') + 1) + "/";
    }

    @Override
    public long getEstimatedDuration() {
        return -1;
    }

    @Override
    public void checkAbortPermission() {
        checkPermission(Item.CANCEL);
    }

    @Override
    public boolean hasAbortPermission() {
        return hasPermission(Item.CANCEL);
    }

    @NonNull
    @Override
    public ACL getACL() {
        Job<?, ?> job = job();
        return job == null ? Jenkins.get().getACL() : job.getACL();
    }

    @Override
    public void checkPermission(@NonNull Permission permission) {
        getACL().checkPermission(permission);
    }

    @Override
    public boolean hasPermission(@NonNull Permission permission) {
        return getACL().hasPermission(permission);
    }

    @NonNull
    @Override
    public Authentication getDefaultAuthentication2() {
        return ACL.SYSTEM2;
    }

    @NonNull
    @Override
    public Authentication getDefaultAuthentication2(Queue.Item item) {
        return getDefaultAuthentication2();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof StageTask && ((StageTask) other).context.equals(context);
    }

    @Override
    public int hashCode() {
        return context.hashCode();
    }

    @Override
    public String toString() {
        return getName() + " of " + runId();
    }

    /** The stage runs as its build does; without this it would run as SYSTEM wherever builds do not. */
    @Extension(ordinal = 958)
    public static final class AuthenticationOfBuild extends QueueItemAuthenticatorProvider {
        @NonNull
        @Override
        public List<QueueItemAuthenticator> getAuthenticators() {
            return List.of(new QueueItemAuthenticator() {
                @Override
                public Authentication authenticate2(Queue.Task task) {
                    String login = task instanceof StageTask ? ((StageTask) task).auth : null;
                    if (login == null) {
                        return null;
                    }
                    User user = Jenkins.ANONYMOUS2.getName().equals(login) ? null : User.getById(login, false);
                    try {
                        return user == null ? Jenkins.ANONYMOUS2 : user.impersonate2();
                    } catch (UsernameNotFoundException x) {
                        // Thrown on, it would end the queue's maintenance for everybody.
                        return Jenkins.ANONYMOUS2;
                    }
                }
            });
        }
    }

    /** A stage is resumed where its files are: a label of that name on another agent does not do. */
    @Extension
    public static final class SameNode extends QueueTaskDispatcher implements OtherPlugins.Ours {
        @Override
        public CauseOfBlockage canTake(Node candidate, Queue.BuildableItem item) {
            if (item.task instanceof StageTask) {
                StageTask task = (StageTask) item.task;
                if (task.anywhere) {
                    return MoveTargets.isTarget(task.stageId, candidate)
                            ? null
                            : CauseOfBlockage.fromMessage(Messages._StageTask_fitsNot());
                }
                String wanted = task.node;
                if (wanted != null && !wanted.equals(candidate.getNodeName())) {
                    return CauseOfBlockage.fromMessage(Messages._StageTask_otherNode(
                            wanted.isEmpty() ? Jenkins.get().getDisplayName() : wanted));
                }
            }
            return null;
        }
    }

    /** What sits on the executor. Exported without anything of its own: the executor's REST data names the build. */
    @ExportedBean
    public static final class StageExecutable implements ContinuableExecutable, AccessControlled {
        private final StageTask task;

        StageExecutable(StageTask task) {
            this.task = task;
        }

        @NonNull
        @Override
        public StageTask getParent() {
            return task;
        }

        @Override
        public Queue.Executable getParentExecutable() {
            return task.getOwnerExecutable();
        }

        @Override
        public long getEstimatedDuration() {
            return -1;
        }

        @Override
        public void run() throws AsynchronousExecution {
            LiveStage live = LiveStage.find(task.stageId);
            Executor executor = Executor.currentExecutor();
            if (live == null || executor == null) {
                // The build ended while the item was on its way to the executor.
                return;
            }
            ((OwnExecutorHold) live.hold()).taken(executor, this);
        }

        /** A restart of the controller does not end the stage. */
        @Override
        public boolean willContinue() {
            LiveStage live = LiveStage.find(task.stageId);
            return live != null && !live.ending();
        }

        @NonNull
        @Override
        public ACL getACL() {
            return task.getACL();
        }

        @Override
        public String toString() {
            return task.toString();
        }
    }
}
