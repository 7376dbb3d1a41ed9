package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.EnvVars;
import hudson.model.FreeStyleBuild;
import hudson.slaves.DumbSlave;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import jenkins.security.MasterToSlaveCallable;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** One stage is suspended and resumed twenty times: nothing is lost, and nothing piles up. */
@WithJenkins
@Tag("soak")
class CyclesTest {

    private static final int CYCLES = 20;
    /** Pools have grown to their usual size by then. */
    private static final int SETTLED = 5;
    /** Far below one a cycle; pools of Jenkins and of remoting come and go by a few. */
    private static final int SLACK = 8;

    private JenkinsRule j;
    private Rig rig;
    private DumbSlave agent;

    private String stageId;

    @TempDir
    Path temp;

    @BeforeEach
    void rig(JenkinsRule jenkins) throws Exception {
        Rig.assumeSuspendable();
        j = jenkins;
        rig = new Rig(j);
        // A folder for temporary files that nobody else on this machine writes to.
        agent = rig.agent(new EnvVars("JAVA_TOOL_OPTIONS", "-Djava.io.tmpdir=" + temp, "TMPDIR", temp.toString()));
    }

    @AfterEach
    void tell() throws Exception {
        rig.tell();
    }

    @Test
    void twentyCyclesOfOwnExecutorStage() throws Exception {
        cycles(Rig.own(Rig.endless()));
    }

    @Test
    void twentyCyclesOfNestedStage() throws Exception {
        cycles(Rig.nested(Rig.endless(), ""));
    }

    private void cycles(String script) throws Exception {
        long pid = agent.getChannel().call(new Pid());
        WorkflowJob low = rig.pipeline("low", 5, script);
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-5\n");
        stageId = Rig.awaitState(StageState.RUNNING).id();
        Used settled = null;
        for (int cycle = 1; cycle <= CYCLES; cycle++) {
            // Each of a job of its own, since what is expected to be short lets its victim stay frozen without an
            // image.
            FreeStyleBuild high = rig.freestyle("high" + cycle, 1, Rig.untilEnough())
                    .scheduleBuild2(0)
                    .waitForStart();
            Rig.awaitSealed(victim, cycle);
            Rig.enough(high);
            j.assertBuildStatusSuccess(j.waitForCompletion(high));
            Rig.awaitLog(victim, "Resumed on worker", cycle);
            Rig.awaitState(StageState.RUNNING);
            Rig.awaitCounting(victim);
            if (cycle == SETTLED) {
                settled = used(pid);
                System.out.println("after " + cycle + " cycles: " + settled);
            }
        }
        Used then = settled;
        await("no more in use than after " + SETTLED + " cycles: " + then)
                .atMost(Rig.PATIENCE)
                .untilAsserted(() -> {
                    Used now = used(pid);
                    assertEquals(then.processes(), now.processes(), "processes of the stage");
                    assertEquals(then.groups(), now.groups(), "control groups");
                    assertEquals(then.mounts(), now.mounts(), "mounts");
                    assertEquals(then.files(), now.files(), "files in the agent's folder");
                    assertEquals(then.temporary(), now.temporary(), "temporary files");
                    assertTrue(now.descriptors() < then.descriptors() + SLACK, "file descriptors: " + now);
                    assertTrue(now.agentThreads() < then.agentThreads() + SLACK, "threads of the agent: " + now);
                    assertTrue(now.ownThreads() <= 16, "threads of ours on the controller: " + now);
                });
        System.out.println("after " + CYCLES + " cycles: " + used(pid));

        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, CYCLES);
        Rig.assertNothingLeft(agent, low);
        Path home = Path.of(agent.getRemoteFS(), "preemptible");
        await("no process of the stage").atMost(Rig.PATIENCE).untilAsserted(() -> {
            assertEquals(List.of(), HostProcesses.mentioning(home.toString()));
            assertEquals(List.of(), HostProcesses.controlGroups(stageId));
        });
    }

    /** What the stage and its agent have in use at one moment. */
    private record Used(
            int processes,
            int groups,
            int mounts,
            int files,
            int temporary,
            int descriptors,
            int agentThreads,
            long ownThreads) {}

    private Used used(long pid) throws IOException {
        Path home = Path.of(agent.getRemoteFS(), "preemptible");
        return new Used(
                HostProcesses.mentioning(home.toString()).size(),
                HostProcesses.controlGroups(stageId).size(),
                (int) Files.readAllLines(Path.of("/proc", Long.toString(pid), "mountinfo")).stream()
                        .filter(line -> line.contains(home.toString()))
                        .count(),
                entries(home),
                entries(temp),
                HostProcesses.count(pid, "fd"),
                HostProcesses.count(pid, "task"),
                Thread.getAllStackTraces().keySet().stream()
                        .filter(thread -> thread.getName().contains("preemptible"))
                        .count());
    }

    private static int entries(Path folder) throws IOException {
        try (Stream<Path> entries = Files.walk(folder)) {
            return (int) entries.count();
        }
    }

    private static final class Pid extends MasterToSlaveCallable<Long, RuntimeException> {
        private static final long serialVersionUID = 1L;

        @Override
        public Long call() {
            return ProcessHandle.current().pid();
        }
    }
}
