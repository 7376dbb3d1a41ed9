package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.cli.CLICommandInvoker;
import hudson.model.ComputerSet;
import hudson.model.Slave;
import hudson.node_monitors.DiskSpaceMonitor;
import io.jenkins.plugins.preemptible.acceptance.faults.FullDisk;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;

/** Tests in which a stage of the job {@code low} goes from agent A to agent B. */
abstract class MovedStages extends OnTwoHosts {

    static String counter() {
        return "sh '''set +x\n" + Rig.endless() + "\n'''";
    }

    /** A stage on A that runs. */
    WorkflowRun begin(String body) throws Exception {
        hosts.connect("A");
        WorkflowRun stage =
                Rig.start(rig.pipeline("low", 5, "preemptible(label: '" + Rig.LABEL + "') {\n" + body + "\n}"));
        Rig.awaitLog(stage, "count-3\n");
        return stage;
    }

    /** Its image takes a while on each way, and its restore a second or more. */
    static String largeCounter() {
        return "sh '''set +x\nnoise=$(head -c 60000000 /dev/urandom | base64 -w 0)\n" + Rig.endless() + "\n'''";
    }

    /** @param times how often it is sealed by then */
    void suspend(WorkflowRun stage, int times) throws Exception {
        assertEquals(
                0,
                new CLICommandInvoker(j, "preemptible-suspend")
                        .invokeWithArgs("low", "1")
                        .returnCode());
        Rig.awaitSealed(stage, times);
    }

    /** Asks for a move until it is taken: an agent that has just connected is not described at once. */
    void move(String agent) {
        await("it is taken")
                .atMost(LONG)
                .until(() -> new CLICommandInvoker(j, "preemptible-move")
                                .invokeWithArgs("low", "1", "--to", agent)
                                .returnCode()
                        == 0);
    }

    /** What the command says to that wish. */
    String asked(String agent) {
        CLICommandInvoker.Result said =
                new CLICommandInvoker(j, "preemptible-move").invokeWithArgs("low", "1", "--to", agent);
        return said.stdout() + said.stderr();
    }

    /** What the sentence of that obstacle begins with, whatever it tells besides. */
    static String sentence(MoveObstacle obstacle) {
        String sentence = obstacle.sentence();
        return sentence.substring(0, sentence.length() - 1);
    }

    /** The disk of agent B. Jenkins does not watch it: it would mark an agent offline that has less than a gigabyte. */
    FullDisk diskOfB(String size) throws IOException {
        ComputerSet.getMonitors().remove(DiskSpaceMonitor.class);
        return new FullDisk(hosts.folder("B"), size);
    }

    static void awaitMoved(WorkflowRun stage, String from, String to) {
        await("a move to " + to)
                .atMost(LONG)
                .until(() -> Rig.log(stage).contains("Moved from " + from + " to " + to + " in "));
    }

    static StageRecord record() {
        return StageRegistry.get().all().iterator().next();
    }

    void endsOn(String agent, WorkflowRun stage) throws Exception {
        Rig.awaitCounting(stage);
        enough(agent);
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
    }

    void enough(String agent) throws Exception {
        Path enough = hosts.workspace(agent, "low").resolve("enough");
        if (!Files.exists(enough)) {
            Files.createFile(enough);
        }
    }

    void awaitClean(String agent) {
        await(agent + " knows no stage").atMost(LONG).until(() -> hosts.stages(agent) == 0);
    }

    ProcessHandle process(String agent) throws Exception {
        long pid =
                Long.parseLong(j.jenkins.getNode(agent).createPath("/proc/self").readLink());
        return ProcessHandle.of(pid).orElseThrow();
    }

    void awaitOffline(String agent) {
        await(agent + " is away")
                .atMost(LONG)
                .until(() -> j.jenkins.getComputer(agent).isOffline());
    }

    void reconnect(String agent) throws Exception {
        j.jenkins.getComputer(agent).connect(true);
        j.waitOnline((Slave) j.jenkins.getNode(agent));
    }
}
