package io.jenkins.plugins.preemptible.queue;

import static org.awaitility.Awaitility.await;

import hudson.model.Cause;
import hudson.model.CauseAction;
import hudson.model.Computer;
import hudson.model.Descriptor.FormException;
import hudson.model.FreeStyleProject;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.ParameterDefinition;
import hudson.model.ParametersAction;
import hudson.model.ParametersDefinitionProperty;
import hudson.model.Queue;
import hudson.model.Slave;
import hudson.model.StringParameterDefinition;
import hudson.model.StringParameterValue;
import hudson.model.queue.CauseOfBlockage;
import hudson.model.queue.QueueTaskDispatcher;
import hudson.slaves.JNLPLauncher;
import hudson.slaves.RetentionStrategy;
import hudson.slaves.SlaveComputer;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.step.ManyStages;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import jenkins.model.queue.AsynchronousExecution;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jvnet.hudson.test.JenkinsRule;

/**
 * A real controller with far more to do than it has executors for.
 *
 * <ol>
 *   <li>Agents are online and have no process: each carries one to three of twenty labels, and every executor is taken
 *       by a task that does nothing.
 *   <li>Stages have records and executor holds, and no processes.
 *   <li>Items are builds of fifty jobs of fifty users that differ in a parameter, and node blocks of real Pipelines.
 * </ol>
 */
public final class BusyController {

    static final int LABELS = 20;
    private static final int JOBS = 50;
    private static final int USERS = 50;
    private static final int BLOCKS_OF_A_BUILD = 50;

    private final JenkinsRule j;
    private final List<FreeStyleProject> jobs = new ArrayList<>();
    private final Random random = new Random(1);
    private int scheduled;
    private ManyStages stages;

    public BusyController(JenkinsRule j) {
        this.j = j;
    }

    /** Agents, each with so many executors that are all taken. */
    public void agents(int count, int executors) throws Exception {
        List<Node> nodes = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            StringBuilder labels = new StringBuilder("l" + i % LABELS);
            for (int more = random.nextInt(3); more > 0; more--) {
                labels.append(" l").append(random.nextInt(LABELS));
            }
            nodes.add(new Processless("agent-" + i, labels.toString(), executors));
        }
        List<Node> all = new ArrayList<>(j.jenkins.getNodes());
        all.addAll(nodes);
        j.jenkins.setNodes(all);
        for (Node node : nodes) {
            for (int i = 0; i < executors; i++) {
                Queue.getInstance().schedule2(new Taken(node.getNodeName() + "#" + i, node.getSelfLabel()), 0);
            }
        }
        await("all executors taken")
                .atMost(Duration.ofMinutes(2))
                .until(() -> nodes.stream()
                        .allMatch(node ->
                                node.toComputer() != null && node.toComputer().countBusy() == executors));
    }

    /** An agent that is idle, with a label that only its caller knows. */
    Node idleAgent(String name, String label) throws Exception {
        Node node = new Processless(name, label, 1);
        j.jenkins.addNode(node);
        return node;
    }

    /** Has another plugin's dispatcher refuse everything on the agent, until it is removed from the list. */
    static QueueTaskDispatcher keepEverybodyOff(String agent) {
        Closed closed = new Closed(agent);
        QueueTaskDispatcher.all().add(closed);
        return closed;
    }

    /** Running stages of a priority that no item has a better one than, and as many suspended ones. */
    void stages(int running, int suspended, int agents) throws Exception {
        PreemptibleConfiguration.get().setExemptSeconds(0);
        WorkflowJob job = j.createProject(WorkflowJob.class, "stages");
        job.setDefinition(new CpsFlowDefinition("preemptible(label: 'l0') { echo 'never' }", true));
        job.scheduleBuild2(0).waitForStart();
        stages = ManyStages.ofWaitingStep();
        for (int i = 0; i < running; i++) {
            stages.running(i, "agent-" + i % agents, 1);
        }
        for (int i = 0; i < suspended; i++) {
            stages.suspended(i, "agent-" + i % agents, 5);
        }
    }

    /** One more suspended stage, after {@link #stages}. */
    void suspended(int number, String agent) throws Exception {
        stages.suspended(number, agent, 5);
    }

    /** Node blocks of real Pipelines that wait for their executors. */
    void blocks(int count) throws Exception {
        for (int built = 0; built < count; built += BLOCKS_OF_A_BUILD) {
            WorkflowJob job = j.createProject(WorkflowJob.class, "blocks-" + built);
            job.setDefinition(new CpsFlowDefinition(
                    "def all = [:]\n for (int i = 0; i < " + BLOCKS_OF_A_BUILD
                            + "; i++) { def n = i; all['b' + n] = { node('l' + n % " + LABELS
                            + ") { } } }\nparallel all",
                    true));
            job.scheduleBuild2(0).waitForStart();
        }
        await("node blocks").atMost(Duration.ofMinutes(5)).until(() -> blocksThatWait() >= count);
    }

    private static long blocksThatWait() {
        return Queue.getInstance().getBuildableItems().stream()
                .filter(item -> WaitingPipeline.of(item.task) != null)
                .count();
    }

    /** Adds builds until that many items wait. */
    public void fillTo(int items) throws Exception {
        makeJobs();
        int missing = items - buildable();
        Queue.withLock(() -> {
            for (int i = 0; i < missing; i++) {
                arrive();
            }
        });
        await("items that wait").atMost(Duration.ofMinutes(5)).until(() -> buildable() >= items);
    }

    static int buildable() {
        return Queue.getInstance().getBuildableItems().size();
    }

    private void makeJobs() throws IOException {
        while (jobs.size() < JOBS) {
            FreeStyleProject job = j.createFreeStyleProject("job-" + jobs.size());
            job.setAssignedLabel(Label.get("l" + jobs.size() % LABELS));
            job.setConcurrentBuild(true);
            job.addProperty(new ParametersDefinitionProperty(
                    new ParameterDefinition[] {new StringParameterDefinition("N", "")}));
            jobs.add(job);
        }
    }

    /** One more build that waits. */
    void arrive() {
        int number = scheduled++;
        Queue.getInstance()
                .schedule2(
                        jobs.get(number % JOBS),
                        0,
                        new ParametersAction(new StringParameterValue("N", String.valueOf(number))),
                        new CauseAction(new Cause.UserIdCause("user-" + random.nextInt(USERS))));
    }

    /** Keeps everybody off one agent. */
    static final class Closed extends QueueTaskDispatcher {
        private final String agent;

        Closed(String agent) {
            this.agent = agent;
        }

        @Override
        public CauseOfBlockage canTake(Node node, Queue.BuildableItem item) {
            return node.getNodeName().equals(agent)
                    ? new CauseOfBlockage() {
                        @Override
                        public String getShortDescription() {
                            return "closed";
                        }
                    }
                    : null;
        }
    }

    /** An agent that is online and has no process. */
    public static final class Processless extends Slave {
        private static final long serialVersionUID = 1L;

        public Processless(String name, String labels, int executors) throws FormException, IOException {
            super(name, "/nowhere", new JNLPLauncher());
            setLabelString(labels);
            setNumExecutors(executors);
            setRetentionStrategy(RetentionStrategy.NOOP);
        }

        @Override
        public Computer createComputer() {
            return new SlaveComputer(this) {
                @Override
                public boolean isOffline() {
                    return isTemporarilyOffline();
                }

                @Override
                public boolean isConnecting() {
                    return false;
                }
            };
        }
    }

    /** Keeps an executor, and does nothing with it. */
    static final class Taken implements Queue.Task {
        private final String name;
        private final Label label;

        Taken(String name, Label label) {
            this.name = name;
            this.label = label;
        }

        @Override
        public String getName() {
            return name;
        }

        @Override
        public String getFullDisplayName() {
            return name;
        }

        @Override
        public String getDisplayName() {
            return name;
        }

        @Override
        public String getUrl() {
            return "";
        }

        @Override
        public void checkAbortPermission() {}

        @Override
        public boolean hasAbortPermission() {
            return true;
        }

        @Override
        public Label getAssignedLabel() {
            return label;
        }

        @Override
        public Queue.Executable createExecutable() {
            return new Queue.Executable() {
                @Override
                public Queue.Task getParent() {
                    return Taken.this;
                }

                @Override
                public void run() throws AsynchronousExecution {
                    throw new AsynchronousExecution() {
                        @Override
                        public void interrupt(boolean forShutdown) {
                            completed(null);
                        }

                        @Override
                        public boolean blocksRestart() {
                            return false;
                        }

                        @Override
                        public boolean displayCell() {
                            return false;
                        }
                    };
                }

                @Override
                public long getEstimatedDuration() {
                    return -1;
                }
            };
        }
    }
}
