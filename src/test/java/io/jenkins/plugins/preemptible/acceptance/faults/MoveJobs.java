package io.jenkins.plugins.preemptible.acceptance.faults;

import hudson.cli.CLICommandInvoker;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.User;
import hudson.slaves.OfflineCause;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import java.util.List;
import java.util.stream.Stream;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.jvnet.hudson.test.JenkinsRule;

/** What runs inside of the controller's process, in rounds with moves. */
final class MoveJobs {

    static final String PLAIN = "plain";
    static final String CHECKPOINTED = "checkpointed";
    private static final String LABEL = "movers";
    private static final String PREEMPTOR = "preemptor-";

    /** Counts from memory alone; has some megabytes there, so that a move takes a moment. */
    private static final String COUNTER =
            "rm -f enough counted; head -c 200000 /dev/urandom > data; sha256sum data > sum\n"
                    + "noise=$(head -c 3000000 /dev/urandom | base64 -w 0)\n"
                    + "i=0; while [ ! -e enough ]; do i=$((i+1)); echo $i >> counted; echo count-$i; sleep 0.2; done";

    private MoveJobs() {}

    static void make(JenkinsRule j, String root) throws Exception {
        FaultJobs.settings();
        PreemptibleConfiguration.get().setMoveStages(true);
        for (String agent : MoveRig.AGENTS) {
            addAgent(j, agent, root);
        }
        stage(PLAIN, "");
        stage(CHECKPOINTED, ", checkpointEvery: 5");
    }

    private static void stage(String job, String more) throws Exception {
        FaultJobs.make(
                job,
                5,
                "preemptible(label: '" + LABEL + "'" + more + ") { sh '''set +x\n" + COUNTER
                        + "\n'''\nsh 'sha256sum -c sum' }");
    }

    /**
     * Without effect when there is such an agent. An agent that is added while an executor of the removed one still works gets that
     * one's computer, and Jenkins drops that with the executor: then it is added anew. A process that has connected meanwhile
     * stays connected to the dropped computer.
     *
     * @return whether it was added
     */
    static Boolean addAgent(JenkinsRule j, String agent, String root) throws Exception {
        boolean absent = Jenkins.get().getComputer(agent) == null;
        if (absent) {
            removeAgent(j, agent);
            FaultJobs.addAgent(agent, root, LABEL + " " + agent);
        }
        return absent;
    }

    static void removeAgent(JenkinsRule j, String agent) throws Exception {
        Node node = Jenkins.get().getNode(agent);
        if (node != null) {
            Jenkins.get().removeNode(node);
        }
    }

    /** An agent that is marked offline gets no builds, and keeps its connection. */
    static void mark(JenkinsRule j, String agent, Boolean offline) {
        Computer computer = Jenkins.get().getComputer(agent);
        if (computer != null && computer.isTemporarilyOffline() != offline) {
            computer.setTemporarilyOffline(
                    offline, offline ? new OfflineCause.UserCause(User.current(), "not in this round yet") : null);
        }
    }

    /** @param words of a command of Jenkins' command line, with a space between each two */
    static String command(JenkinsRule j, String words) {
        String[] all = words.split(" ");
        CLICommandInvoker.Result said = new CLICommandInvoker(j, all[0])
                .invokeWithArgs(List.of(all).subList(1, all.length).toArray(String[]::new));
        return said.returnCode() + " " + said.stdout() + said.stderr();
    }

    /** One that nobody knows how long it takes, and that runs nothing on the agent; it ends by {@link #stop} only. */
    static String makePreemptor(JenkinsRule j, String round, String agent) throws Exception {
        String job = PREEMPTOR + round;
        if (Jenkins.get().getItem(job) == null) {
            FaultJobs.make(job, 1, "node('" + agent + "') { sleep 3600 }");
        }
        return job;
    }

    /** Ends all preemptors. */
    static void stop(JenkinsRule j) throws Exception {
        for (WorkflowJob job : preemptors()) {
            for (Queue.Item item : Jenkins.get().getQueue().getItems()) {
                if (item.task.getOwnerTask().getName().equals(job.getName())) {
                    Jenkins.get().getQueue().cancel(item);
                }
            }
            for (WorkflowRun build : job.getBuilds()) {
                if (build.isBuilding()) {
                    build.doKill();
                }
            }
        }
    }

    private static List<WorkflowJob> preemptors() {
        return Jenkins.get().getAllItems(WorkflowJob.class).stream()
                .filter(job -> job.getName().startsWith(PREEMPTOR))
                .toList();
    }

    /** Makes all as it was before the first round, but for agents that are not there and for the agents' processes. */
    static void reset(JenkinsRule j) throws Exception {
        stop(j);
        for (WorkflowJob job : preemptors()) {
            job.delete();
        }
        for (String agent : MoveRig.AGENTS) {
            mark(j, agent, false);
            command(j, "preemptible-drain " + agent + " --undo");
        }
    }

    /** Whether the agents are there and have nothing to do. */
    static Boolean idle(JenkinsRule j) {
        return Jenkins.get().getQueue().isEmpty()
                && MoveRig.AGENTS.stream().map(Jenkins.get()::getComputer).allMatch(MoveJobs::isIdle);
    }

    private static boolean isIdle(Computer computer) {
        return computer != null && computer.isOnline() && computer.countIdle() == 1;
    }

    /** For the report of a lost round: what the controller sees. */
    static String seen(JenkinsRule j) {
        String agents = Stream.of(Jenkins.get().getComputers())
                .map(computer -> computer.getName() + (computer.isOnline() ? " online" : " offline") + ", idle "
                        + computer.countIdle() + " of " + computer.getNumExecutors())
                .toList()
                .toString();
        String queue = Stream.of(Jenkins.get().getQueue().getItems())
                .map(item -> item.task.getFullDisplayName() + ": " + item.getWhy())
                .toList()
                .toString();
        return "agents " + agents + ", queue " + queue;
    }
}
