package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.EnvVars;
import hudson.cli.CLICommandInvoker;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Result;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.view.ResumedStageAction;
import io.jenkins.plugins.preemptible.view.SuspendedBadgeAction;
import io.jenkins.plugins.preemptible.view.SuspendedStageAction;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import net.sf.json.JSONArray;
import net.sf.json.JSONObject;
import org.htmlunit.html.HtmlPage;
import org.jenkinsci.plugins.workflow.graph.FlowNode;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** On an agent that makes no images: a suspended stage stays in its memory, and nothing is ever sealed. */
@WithJenkins
@Tag("acceptance")
class InMemoryOnlyTest extends OneAgent {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("lifecycle.Suspension.passingRetryMillis", 1000);

    static final String FROM_FROZEN = "from the processes that were still frozen in the agent's memory";
    static final String TOLD = "keeps suspended stages in memory only: a restart of its host loses";

    private static final String SHORT = "Not suspended. The host has less free memory than the floor";

    private WorkflowJob low;
    private WorkflowRun victim;

    @Override
    EnvVars agentEnvironment() {
        return new EnvVars("PREEMPTIBLE_CHECKPOINTS", "off");
    }

    @BeforeEach
    void enoughMemory() {
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
    }

    @AfterEach
    void undrain() {
        // Fails when nobody drains the agent, which is well.
        new CLICommandInvoker(j, "preemptible-drain").invokeWithArgs("worker", "--undo");
    }

    private void start(String script) throws Exception {
        low = rig.pipeline("low", 5, script);
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
    }

    private static FreeStyleBuild preempt(String name) throws Exception {
        FreeStyleProject high = rig.freestyle(name, 1, Rig.untilEnough());
        high.scheduleBuild2(0);
        await(name + " has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        return high.getLastBuild();
    }

    private static void ends(FreeStyleBuild preemptor) throws Exception {
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
    }

    private static int times(String log, String text) {
        return log.split(java.util.regex.Pattern.quote(text), -1).length - 1;
    }

    /** What the controller has saved of its stages. */
    static String saved(File root) throws IOException {
        StringBuilder all = new StringBuilder();
        try (var files = Files.walk(root.toPath(), 2)) {
            for (Path file : files.filter(Files::isRegularFile)
                    .filter(file -> root.toPath().relativize(file).toString().startsWith("preemptible-stages"))
                    .toList()) {
                all.append(Files.readString(file));
            }
        }
        return all.toString();
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void suspendedAndResumedTwice(boolean nested) throws Exception {
        start(nested ? Rig.nested(Rig.endless(), "sh 'touch after'") : Rig.own(Rig.endless()));
        for (int i = 1; i <= 2; i++) {
            FreeStyleBuild preemptor = preempt("high" + i);
            StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
            Rig.awaitLog(victim, "no images are made on this agent.", i);
            assertTrue(stage.frozen() && stage.memoryOnly(), stage::toString);
            // A sealing would have begun by then, and would say why it failed.
            await().during(Duration.ofSeconds(3)).atMost(Rig.PATIENCE).until(() -> {
                String log = Rig.log(victim);
                return !log.contains("sealed") && victim.getArtifacts().isEmpty();
            });
            String saved = saved(j.jenkins.getRootDir());
            assertThat(saved, containsString(stage.id()));
            assertThat(saved, not(containsString("imageKey")));
            assertFalse(HostProcesses.controlGroups(stage.id()).isEmpty(), "the frozen processes are there");
            isShown();
            ends(preemptor);
            Rig.awaitLog(victim, FROM_FROZEN, i);
            Rig.awaitCounting(victim);
            // It is set a moment after the line in the log.
            await().atMost(Rig.PATIENCE).until(() -> node().getPersistentAction(ResumedStageAction.class) != null);
            ResumedStageAction how = node().getPersistentAction(ResumedStageAction.class);
            assertEquals("FROZEN", how.getTier());
            assertTrue(how.isMemoryOnly());
        }
        assertEquals(1, times(Rig.log(victim), TOLD), "said once");
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        Rig.assertNothingLeft(agent, low);
    }

    private void isShown() throws Exception {
        assertThat(
                victim.getAction(SuspendedBadgeAction.class).getTooltip(),
                containsString("a restart of the agent\u2019s host loses it"));
        SuspendedStageAction told = await().atMost(Rig.PATIENCE)
                .until(() -> node().getPersistentAction(SuspendedStageAction.class), action -> action != null);
        assertTrue(told.isFrozen() && told.isMemoryOnly());
        JSONObject state = j.getJSON("preemptible/api/json").getJSONObject();
        assertTrue(state.getJSONArray("suspended").getJSONObject(0).getBoolean("memoryOnly"));
        assertEquals(
                "MEMORY_ONLY", named(state.getJSONArray("agents"), "worker").getString("suspends"));
        assertEquals("UNKNOWN", named(state.getJSONArray("agents"), "").getString("suspends"));
        HtmlPage agent = j.createWebClient().goTo("computer/worker/preemptible/");
        assertThat(agent.getElementById("preemptible-how").getTextContent(), containsString("in memory only"));
        assertThat(
                agent.querySelector("table[aria-label=Stages]").asNormalizedText(),
                containsString("suspended, frozen in memory"));
    }

    private static JSONObject named(JSONArray agents, String name) {
        return agents.stream()
                .map(JSONObject.class::cast)
                .filter(agent -> agent.getString("name").equals(name))
                .findFirst()
                .orElseThrow();
    }

    private static FlowNode node() throws Exception {
        StageRecord stage = StageRegistry.get().all().iterator().next();
        return LiveStage.find(stage.id()).context().get(FlowNode.class);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void abortOfASuspendedStageLeavesNothing(boolean nested) throws Exception {
        start(nested ? Rig.nested(Rig.counter(1000), "echo 'not reached'") : Rig.own(Rig.counter(1000)));
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitState(StageState.SUSPENDED);
        Rig.awaitLog(victim, TOLD);
        victim.getExecutor().interrupt();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        Rig.assertNothingLeft(agent, low);
        assertThat(Rig.log(victim), not(containsString("not reached")));
        assertTrue(preemptor.isBuilding(), "the preemptor has nothing to do with it");
        ends(preemptor);
    }

    /** Nothing would free the memory: the stage runs on, is not tried again and again, and is suspended when there is room. */
    @Tag("slow")
    @Test
    void withLittleMemoryNothingIsSuspended() throws Exception {
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(1_048_576);
        start(Rig.own(Rig.endless()));
        WorkflowRun waiting = Rig.start(rig.pipeline("waits", 1, Rig.preemptor()));
        Rig.awaitLog(waiting, Reason.MEMORY_SHORT.sentence());
        // The period of a refusal is over by then, and so is that in which the queue is looked at anyway.
        await("it is not tried again")
                .during(Duration.ofSeconds(6))
                .atMost(Rig.PATIENCE)
                .until(() -> times(Rig.log(victim), "Suspending this stage for") <= 1);
        assertEquals(StageState.RUNNING, Rig.awaitState(StageState.RUNNING).state());
        // The decision knows by then; what a user asks for is tried, and refused.
        int before = times(Rig.log(victim), SHORT);
        command("preemptible-suspend", "low", "1");
        Rig.awaitLog(victim, SHORT, before + 1);
        Rig.awaitCounting(victim);
        command("preemptible-resume", "low", "1");
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
        j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
        Rig.awaitLog(victim, FROM_FROZEN);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        Rig.assertNothingLeft(agent, low);
    }

    /** As by a restart of the agent's host. */
    @Test
    void killedWhileSuspendedIsLostAndSaysWhatHelps() throws Exception {
        start(Rig.own(Rig.counter(1000)));
        FreeStyleBuild preemptor = preempt("high");
        kill(Rig.awaitState(StageState.SUSPENDED));
        ends(preemptor);
        j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(victim));
        assertThat(
                Rig.log(victim),
                containsString("The stage is lost, as a running one would be: the agent 'worker' keeps"
                        + " suspended stages in memory only"));
        assertThat(Rig.log(victim), containsString("outlive that on agents that make images"));
        Rig.assertNothingLeft(agent, low);
    }

    static void kill(StageRecord stage) throws IOException {
        for (String group : HostProcesses.controlGroups(stage.id())) {
            Path kill = Path.of(group, "cgroup.kill");
            assumeTrue(Files.exists(kill), "control groups of version 2 are needed");
            Files.writeString(kill, "1");
        }
    }

    @Test
    void aDrainSaysThatARestartOfTheHostLosesThem() throws Exception {
        start(Rig.own(Rig.endless()));
        CLICommandInvoker.Result drain = new CLICommandInvoker(j, "preemptible-drain").invokeWithArgs("worker");
        assertEquals(0, drain.returnCode(), drain.stderr());
        assertThat(drain.stdout(), containsString("a restart of its host loses them"));
        Rig.awaitState(StageState.SUSPENDED);
        command("preemptible-drain", "worker", "--undo");
        Rig.awaitLog(victim, FROM_FROZEN);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.assertNothingLeft(agent, low);
    }

    private static void command(String name, String... arguments) {
        CLICommandInvoker.Result result = new CLICommandInvoker(j, name).invokeWithArgs(arguments);
        assertEquals(0, result.returnCode(), result.stderr());
    }
}
