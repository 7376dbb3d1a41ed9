package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertInstanceOf;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.cli.CLICommandInvoker;
import hudson.model.FreeStyleBuild;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.Result;
import hudson.model.Slave;
import hudson.slaves.CloudRetentionStrategy;
import hudson.slaves.ComputerLauncher;
import hudson.slaves.DumbSlave;
import hudson.slaves.OfflineCause;
import hudson.slaves.RetentionStrategy;
import hudson.slaves.SlaveComputer;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.File;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.durabletask.executors.OnceRetentionStrategy;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** An agent that Jenkins would take away, since its one build ended or it is idle, is kept for its suspended stage. */
@WithJenkins
@Tag("acceptance")
class KeptAgentTest {

    private static JenkinsRule j;
    private static Rig rig;
    private File root;
    private WorkflowRun victim;
    private FreeStyleBuild preemptor;

    /** One for all tests, each with an agent of its own: most of their time would be its start. */
    @BeforeAll
    static void controller(JenkinsRule jenkins) {
        j = jenkins;
        rig = new Rig(j);
    }

    @AfterAll
    static void stop() throws Exception {
        j.after();
    }

    @BeforeEach
    void folder() throws Exception {
        Rig.assumeSuspendable();
        rig.prepare();
        // Not a folder that JUnit removes: the agent's process may be about to end then.
        root = Files.createTempDirectory(j.jenkins.getRootDir().toPath(), "agent")
                .toFile();
        CloudAgent.GIVEN_BACK.clear();
    }

    @AfterEach
    void noAgents() throws Exception {
        rig.tell();
        rig.clear();
        for (Node node : j.jenkins.getNodes()) {
            if (node.toComputer() != null) {
                node.toComputer().disconnect(null).get();
            }
            j.jenkins.removeNode(node);
        }
        await("no agent is left").atMost(Rig.PATIENCE).until(() -> j.jenkins.getComputers().length == 1);
    }

    /** The end of the preemptor is not the end of a once-only agent; that of the stage is. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void onceOnly(boolean nested) throws Exception {
        Slave agent = cloudAgent(new OnceRetentionStrategy(10));
        suspendedOn(nested ? Rig.nested(Rig.endless(), "echo 'after it'") : Rig.own(Rig.endless()));
        assertFalse(agent.toComputer().isIdle(), "an agent with a suspended stage is not idle");
        endsAndGoesOn();
        assertInstanceOf(OnceRetentionStrategy.class, agent.getRetentionStrategy());
        assertEquals(agent, j.jenkins.getNode("worker"));
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        await("the agent is given back").atMost(Rig.PATIENCE).until(() -> j.jenkins.getNode("worker") == null);
        assertTrue(CloudAgent.GIVEN_BACK.contains("worker"));
    }

    /** What kept the agent is gone, and nothing runs there whose end would give it back. */
    @Test
    void onceOnlyAgentGoesWhenItsStageIsAborted() throws Exception {
        cloudAgent(new OnceRetentionStrategy(10));
        suspendedOn(Rig.own(Rig.endless()));
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        victim.doStop();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        await("the agent is given back").atMost(Rig.PATIENCE).until(() -> j.jenkins.getNode("worker") == null);
    }

    /** A cloud's agent that would be given back as soon as it is idle. */
    @Test
    void idleCloudAgent() throws Exception {
        Slave agent = cloudAgent(new CloudRetentionStrategy(0));
        suspendedOn(Rig.own(Rig.endless()));
        keptWhenIdle(agent);
        endsAndGoesOn();
    }

    /** One that is taken offline when it is not in demand. */
    @Test
    void agentOnDemand() throws Exception {
        DumbSlave agent = onDemand();
        suspendedOn(Rig.own(Rig.endless()));
        keptWhenIdle(agent);
        endsAndGoesOn();
    }

    /** A stage that only its own agent can resume demands it. */
    @Test
    @Tag("slow")
    void agentOnDemandIsConnectedAgain() throws Exception {
        DumbSlave agent = onDemand();
        victim = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
        Rig.awaitLog(victim, "count-3\n");
        assertEquals(
                0,
                new CLICommandInvoker(j, "preemptible-suspend")
                        .invokeWithArgs("low", "1")
                        .returnCode());
        Rig.awaitSealed(victim, 1);
        agent.toComputer().disconnect(new OfflineCause.IdleOfflineCause()).get();
        await("the agent is back")
                .atMost(Rig.PATIENCE)
                .until(() -> agent.toComputer().isOnline());
        assertEquals(
                0,
                new CLICommandInvoker(j, "preemptible-resume")
                        .invokeWithArgs("low", "1")
                        .returnCode());
        Rig.awaitLog(victim, "Resumed on worker");
        Rig.awaitCounting(victim);
    }

    private DumbSlave onDemand() throws Exception {
        DumbSlave agent = AgentJvm.add(j, "worker", Rig.LABEL, null);
        agent.setNumExecutors(1);
        RetentionStrategy.Demand demand = new RetentionStrategy.Demand(0, 1);
        Field idle = RetentionStrategy.Demand.class.getDeclaredField("idleDelay");
        idle.setAccessible(true);
        idle.setLong(demand, 0);
        agent.setRetentionStrategy(demand);
        j.waitOnline(agent);
        return agent;
    }

    /** Its kind decides by itself when it goes: nothing is suspended there, and the log says why. */
    @Test
    void agentThatCannotBeKept() throws Exception {
        connected(new OwnWayAgent("worker", root.getPath(), AgentJvm.launcher(j, null)));
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        var waiting = rig.freestyle("high", 1, "true").scheduleBuild2(0);
        Rig.awaitLog(victim, "This stage runs, but cannot be suspended on worker: agents of this kind");
        assertEquals(1, Rig.log(victim).split("cannot be suspended", -1).length - 1);
        Rig.awaitCounting(victim);
        assertFalse(waiting.isDone());
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        waiting.cancel(true);
    }

    /** Its strategy cannot be replaced. */
    private static final class OwnWayAgent extends CloudAgent {
        private static final long serialVersionUID = 1L;

        OwnWayAgent(String name, String root, ComputerLauncher launcher) throws Exception {
            super(name, root, launcher, new OnceRetentionStrategy(10));
        }

        @Override
        public RetentionStrategy<?> getRetentionStrategy() {
            return super.getRetentionStrategy();
        }
    }

    /** It does so whatever Jenkins wants: the build ends at once, and nothing is kept of a machine that is no more. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    @Tag("slow")
    void cloudTakesItsAgentAway(boolean nested) throws Exception {
        CloudAgent agent = (CloudAgent) cloudAgent(new OnceRetentionStrategy(10));
        suspendedOn(nested ? Rig.nested(Rig.endless(), "echo 'not reached'") : Rig.own(Rig.endless()));
        Rig.awaitSealed(victim, 1);
        agent.terminate();
        await(victim + " ends").atMost(Rig.PATIENCE).until(() -> !victim.isBuilding());
        j.assertBuildStatus(Result.ABORTED, victim);
        assertThat(Rig.log(victim), containsString("was removed while the stage was suspended"));
        await("nothing is kept of it").atMost(Rig.PATIENCE).untilAsserted(() -> {
            assertEquals(List.of(), List.copyOf(StageRegistry.get().all()));
            assertEquals(List.of(), List.copyOf(StageRegistry.get().leftovers()));
        });
    }

    /** The node is saved at any time, and read by a controller that may not have the plugin's state. */
    @Test
    void savedStrategyIsItsOwn() throws Exception {
        Slave agent = cloudAgent(new OnceRetentionStrategy(10));
        suspendedOn(Rig.own(Rig.endless()));
        String saved = hudson.model.Items.XSTREAM2.toXML(agent);
        Node read = (Node) jenkins.model.Jenkins.XSTREAM2.fromXML(saved);
        assertInstanceOf(OnceRetentionStrategy.class, ((Slave) read).getRetentionStrategy());
        endsAndGoesOn();
    }

    private void keptWhenIdle(Slave agent) throws Exception {
        Rig.awaitSealed(victim, 1);
        Rig.enough(preemptor);
        // The look that would take an idle agent away, with nothing but the suspended stage on it.
        j.jenkins.doQuietDown();
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        SlaveComputer computer = (SlaveComputer) agent.toComputer();
        await().atMost(Rig.PATIENCE).until(() -> computer.countIdle() == 1);
        TimeUnit.MILLISECONDS.sleep(50);
        check(computer);
        assertFalse(computer.isIdle());
        assertTrue(computer.isOnline());
        assertEquals(agent, j.jenkins.getNode("worker"));
        j.jenkins.doCancelQuietDown();
    }

    @SuppressWarnings("unchecked")
    private static void check(SlaveComputer computer) {
        Queue.runWithLock(() -> computer.getRetentionStrategy().check(computer));
    }

    private Slave cloudAgent(RetentionStrategy<?> retention) throws Exception {
        return connected(new CloudAgent("worker", root.getPath(), AgentJvm.launcher(j, null), retention));
    }

    private Slave connected(CloudAgent agent) throws Exception {
        j.jenkins.addNode(agent);
        j.waitOnline(agent);
        return agent;
    }

    private void suspendedOn(String script) throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, script);
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        preemptor =
                rig.freestyle("high", 1, Rig.untilEnough()).scheduleBuild2(0).waitForStart();
        Rig.awaitState(StageState.SUSPENDED);
    }

    private void endsAndGoesOn() throws Exception {
        if (preemptor.isBuilding()) {
            Rig.enough(preemptor);
        }
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Rig.awaitLog(victim, "Resumed on worker");
        Rig.awaitCounting(victim);
        Rig.countedAtLeast(victim, 4);
        assertThat(Rig.log(victim), not(containsString("removed")));
    }
}
