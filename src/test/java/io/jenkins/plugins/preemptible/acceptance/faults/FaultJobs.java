package io.jenkins.plugins.preemptible.acceptance.faults;

import hudson.model.Computer;
import hudson.model.Executor;
import hudson.model.Node;
import hudson.model.ParametersAction;
import hudson.model.ParametersDefinitionProperty;
import hudson.model.Queue;
import hudson.model.Result;
import hudson.model.StringParameterDefinition;
import hudson.model.StringParameterValue;
import hudson.slaves.DumbSlave;
import hudson.slaves.JNLPLauncher;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import jenkins.advancedqueue.JobGroup;
import jenkins.advancedqueue.PriorityConfiguration;
import jenkins.advancedqueue.jobinclusion.strategy.AllJobsJobInclusionStrategy;
import jenkins.advancedqueue.priority.strategy.JobPropertyStrategy;
import jenkins.advancedqueue.priority.strategy.PriorityJobProperty;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.jvnet.hudson.test.JenkinsRule;

/** What runs inside of the controller's process. */
final class FaultJobs {

    private static final String QUIET = "quiet-";
    /** How long a build may take from its start to its program. */
    private static final long BEGIN_MILLIS = 30_000;

    private static String counter(boolean silent) {
        return "i=0; while [ ! -e enough ]; do i=$((i+1)); echo $i >> counted; " + (silent ? "" : "echo count-$i; ")
                + "sleep 0.3; done";
    }

    private FaultJobs() {}

    /** @param silent prints nothing */
    static String victim(String form, boolean silent, String agent) {
        return (silent ? "silent-" : "victim-") + form + "-" + agent;
    }

    /** Its builds are expected to be brief: the stage may stay in memory, without an image. */
    static String preemptor(String agent) {
        return "preemptor-" + agent;
    }

    /** One of which nobody knows how long its builds take: an image is made at once. */
    static String unknownPreemptor(int round, String agent) {
        return "preemptor-" + round + "-" + agent;
    }

    /** Agents of one executor, and their jobs. */
    static void make(JenkinsRule j, String agent, String folder) throws Exception {
        settings();
        addAgent(agent, folder, agent);
        for (boolean silent : new boolean[] {false, true}) {
            String shell = "sh '''set +x\n" + counter(silent) + "\n'''";
            make(victim("own", silent, agent), 5, "preemptible(label: '" + agent + "') { " + shell + " }");
            make(victim("nested", silent, agent), 5, "node('" + agent + "') { preemptible { " + shell + " } }");
        }
    }

    static void settings() throws Exception {
        PreemptibleConfiguration configuration = PreemptibleConfiguration.get();
        configuration.setExemptSeconds(0);
        configuration.setDiskFloorMegabytes(0);
        configuration.setDiskFloorPercent(0);
        Jenkins.get().setNumExecutors(0);
        usePriorities();
    }

    /** One of one executor, which connects by itself. */
    static void addAgent(String agent, String folder, String labels) throws Exception {
        JNLPLauncher launcher = new JNLPLauncher();
        launcher.setWebSocket(true);
        DumbSlave node = new DumbSlave(agent, folder, launcher);
        node.setLabelString(labels);
        node.setNumExecutors(1);
        node.setMode(Node.Mode.EXCLUSIVE);
        Jenkins.get().addNode(node);
    }

    static void memoryFloor(JenkinsRule j, Integer megabytes) {
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(megabytes);
    }

    private static void usePriorities() {
        JobGroup group = new JobGroup();
        group.setJobGroupStrategy(new AllJobsJobInclusionStrategy());
        group.setPriority(3);
        group.setUsePriorityStrategies(true);
        // A list that is read again from its file.
        group.setPriorityStrategies(
                new ArrayList<>(List.of(new JobGroup.PriorityStrategyHolder(0, new JobPropertyStrategy()))));
        PriorityConfiguration.get().setJobGroups(new ArrayList<>(List.of(group)));
        PriorityConfiguration.get().save();
    }

    /** The same without a shell: Pipeline waits for ever for an {@code sh} whose exit code the agent could not write. */
    static String quiet(String preemptor) {
        return QUIET + preemptor;
    }

    /** Without effect when there is such a job. */
    static void makePreemptor(JenkinsRule j, String job, String agent) throws Exception {
        if (Jenkins.get().getItem(job) == null) {
            String sleeps = job.startsWith(QUIET) ? "sleep params.SECONDS as int" : "sh \"sleep ${params.SECONDS}\"";
            WorkflowJob preemptor = make(job, 1, "node('" + agent + "') { " + sleeps + " }");
            preemptor.addProperty(new ParametersDefinitionProperty(new StringParameterDefinition("SECONDS", "1")));
        }
    }

    static WorkflowJob make(String name, int priority, String script) throws Exception {
        WorkflowJob job = Jenkins.get().createProject(WorkflowJob.class, name);
        job.addProperty(new PriorityJobProperty(true, priority));
        job.setDefinition(new CpsFlowDefinition(script, true));
        return job;
    }

    static String secret(JenkinsRule j, String agent) {
        return ((hudson.slaves.SlaveComputer) Jenkins.get().getComputer(agent)).getJnlpMac();
    }

    static Boolean online(JenkinsRule j, String agent) {
        Computer computer = Jenkins.get().getComputer(agent);
        return computer != null && computer.isOnline();
    }

    static Integer nextNumber(JenkinsRule j, String job) {
        return Jenkins.get().getItemByFullName(job, WorkflowJob.class).getNextBuildNumber();
    }

    /**
     * Without effect when it was called before and its answer was lost: a second build would take the executor, and never end.
     *
     * @param number as {@link #nextNumber} said
     * @return the number of the build, which runs
     */
    static Integer schedule(JenkinsRule j, String job, String seconds, Integer number) throws Exception {
        WorkflowJob scheduled = Jenkins.get().getItemByFullName(job, WorkflowJob.class);
        if (scheduled.getNextBuildNumber() > number) {
            return number;
        }
        var future = seconds.isEmpty()
                ? scheduled.scheduleBuild2(0)
                : scheduled.scheduleBuild2(0, new ParametersAction(new StringParameterValue("SECONDS", seconds)));
        return future.waitForStart().getNumber();
    }

    /** @return {@code running}, or the result */
    static String result(JenkinsRule j, String job, Integer number) {
        WorkflowRun run =
                Jenkins.get().getItemByFullName(job, WorkflowJob.class).getBuildByNumber(number);
        if (run == null) {
            return "unknown";
        }
        Result result = run.getResult();
        return run.isBuilding() || result == null ? "running" : result.toString();
    }

    /**
     * Ends a build whose {@code node} step is neither in the queue nor on an executor. Jenkins saves its queue up to a minute
     * late: what was queued shortly before a kill of the controller is not there afterwards, and its build waits for ever.
     *
     * @return whether it was such a build
     */
    static Boolean endForgotten(JenkinsRule j, String job, Integer number) {
        WorkflowRun run =
                Jenkins.get().getItemByFullName(job, WorkflowJob.class).getBuildByNumber(number);
        if (run == null || !run.isBuilding()) {
            return false;
        }
        Stream<Queue.Task> queued =
                Stream.of(Jenkins.get().getQueue().getItems()).map(item -> item.task);
        Stream<Queue.Task> running = Stream.of(Jenkins.get().getComputers())
                .flatMap(computer -> computer.getExecutors().stream())
                .map(Executor::getCurrentWorkUnit)
                .filter(Objects::nonNull)
                .map(unit -> unit.work.getOwnerTask());
        boolean known = Stream.concat(queued, running)
                .anyMatch(task -> task.getOwnerTask().getName().equals(job));
        if (!known) {
            run.doKill();
        }
        return !known;
    }

    static String artifacts(JenkinsRule j, String job, Integer number) {
        return Jenkins.get().getItemByFullName(job, WorkflowJob.class).getBuildByNumber(number).getArtifacts().stream()
                .map(artifact -> artifact.relativePath)
                .toList()
                .toString();
    }

    /** Whether no build runs and nothing waits. */
    static Boolean quiet(JenkinsRule j) {
        Jenkins jenkins = Jenkins.get();
        return jenkins.getQueue().isEmpty()
                && jenkins.getAllItems(WorkflowJob.class).stream()
                        .allMatch(job -> job.getBuilds().limit(3).stream().noneMatch(FaultJobs::runs));
    }

    // One that was killed before its program began has neither program nor result for ever, and counts as building.
    private static boolean runs(WorkflowRun build) {
        boolean hasJustBegun = System.currentTimeMillis() - build.getStartTimeInMillis() < BEGIN_MILLIS;
        return build.isLogUpdated() && (build.getExecution() != null || hasJustBegun);
    }
}
