package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.cli.CLICommandInvoker;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Result;
import hudson.slaves.DumbSlave;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.view.SuspendedBadgeAction;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.regex.Pattern;
import net.sf.json.JSONObject;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Stages that cannot be dumped, where the configuration has them frozen for a time. */
@WithJenkins
@Tag("acceptance")
class FrozenOnlyTest extends OneAgent {

    static final String WARNED = "This stage cannot be dumped and is frozen in memory only, for at most";
    private static final int SHORT_SECONDS = 30;
    /** Long enough for a lead in which a busy machine suspends something. */
    private static final int ROOMY_SECONDS = 50;

    private WorkflowJob low;
    private WorkflowRun victim;

    @Override
    void assumptions() throws Exception {
        super.assumptions();
        Rig.assumeInstalled("strace", "strace");
        Rig.assumeInstalled("bash", "bash");
    }

    @BeforeEach
    void freezeOnly() {
        freezeOnly(600);
    }

    static void freezeOnly(int seconds) {
        PreemptibleConfiguration configuration = PreemptibleConfiguration.get();
        configuration.setMemoryFloorMegabytes(0);
        configuration.setUndumpable("freeze-only");
        configuration.setFrozenOnlySeconds(seconds);
        configuration.setFrozenOnlyPercent(50);
    }

    @AfterEach
    void defaults() {
        PreemptibleConfiguration.get().setUndumpable("wait");
        PreemptibleConfiguration.get().setFrozenOnlySeconds(600);
        PreemptibleConfiguration.get().setFrozenOnlyPercent(25);
        PreemptibleConfiguration.get().setExemptSeconds(0);
    }

    /** Counts as {@link Rig#endless} does, under strace. */
    static String traced() {
        return "cat > count.sh <<'END'\n" + Rig.endless() + "\nEND\nstrace -f -o /dev/null sh count.sh";
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

    private void victimEnds() throws Exception {
        Rig.awaitCounting(victim);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        Rig.assertNothingLeft(agent, low);
    }

    private static int times(String log, String text) {
        return log.split(Pattern.quote(text), -1).length - 1;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void preemptedAndResumedTwice(boolean nested) throws Exception {
        start(nested ? Rig.nested(traced(), "sh 'touch after'") : Rig.own(traced()));
        FreeStyleProject equal = rig.freestyle("equal", 5, "true");
        for (int i = 1; i <= 2; i++) {
            FreeStyleBuild preemptor = preempt("high" + i);
            StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
            Rig.awaitLog(victim, "stay there, at most until", i);
            assertTrue(stage.frozen() && stage.memoryOnly(), stage::toString);
            assertTrue(stage.thawByMillis() > System.currentTimeMillis(), stage::toString);
            isShown(stage);
            if (i == 1) {
                equal.scheduleBuild2(0);
                await("it waits")
                        .atMost(Rig.PATIENCE)
                        .until(() -> j.jenkins.getQueue().getBuildableItems().size() == 1);
                Rig.awaitAnotherLook();
            }
            ends(preemptor);
            Rig.awaitLog(victim, InMemoryOnlyTest.FROM_FROZEN, i);
            Rig.awaitCounting(victim);
            assertNull(equal.getLastBuild(), "the executor was for the frozen stage");
        }
        String log = Rig.log(victim);
        assertEquals(1, times(log, WARNED), "warned once");
        assertThat(log, containsString("is being traced (strace"));
        assertThat(log, not(containsString("sealed")));
        assertThat(InMemoryOnlyTest.saved(j.jenkins.getRootDir()), not(containsString("imageKey")));
        victimEnds();
        await("its equal runs").atMost(Rig.PATIENCE).until(() -> equal.getLastBuild() != null);
        j.assertBuildStatusSuccess(j.waitForCompletion(equal.getLastBuild()));
    }

    private void isShown(StageRecord stage) throws Exception {
        CLICommandInvoker.Result moved =
                new CLICommandInvoker(j, "preemptible-move").invokeWithArgs("low", "1", "--to", "(built-in)");
        assertEquals(4, moved.returnCode(), moved.stderr());
        assertThat(moved.stderr(), containsString("cannot be dumped, so no image of it can go to another agent."));
        assertThat(
                victim.getAction(SuspendedBadgeAction.class).getTooltip(),
                containsString("frozen in memory only, at most until"));
        JSONObject state = j.getJSON("preemptible/api/json").getJSONObject();
        JSONObject shown = state.getJSONArray("suspended").getJSONObject(0);
        assertTrue(shown.getBoolean("memoryOnly"));
        assertEquals(stage.thawByMillis(), shown.getLong("thawByMillis"));
        assertThat(
                j.createWebClient().goTo("preemptible/").getBody().getTextContent(),
                containsString("frozen in memory only, at most until"));
    }

    /** Which the policy does not know before the freeze finds it. */
    @Test
    void withAConnectionToTheOutside() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            start(Rig.own("cat > count.sh <<'END'\nexec 3<>/dev/tcp/127.0.0.1/" + server.getLocalPort() + "\n"
                    + Rig.endless() + "\nEND\nbash count.sh"));
            try (Socket peer = server.accept()) {
                FreeStyleBuild preemptor = preempt("high");
                Rig.awaitState(StageState.SUSPENDED);
                Rig.awaitLog(victim, WARNED);
                assertThat(Rig.log(victim), containsString("127.0.0.1:" + server.getLocalPort()));
                ends(preemptor);
                Rig.awaitLog(victim, InMemoryOnlyTest.FROM_FROZEN);
                victimEnds();
                assertTrue(peer.isConnected());
            }
        }
    }

    @ParameterizedTest
    @Tag("slow")
    @ValueSource(booleans = {false, true})
    void abortOfAFrozenStageLeavesNothing(boolean nested) throws Exception {
        start(nested ? Rig.nested(traced(), "echo 'not reached'") : Rig.own(traced()));
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitState(StageState.SUSPENDED);
        Rig.awaitLog(victim, WARNED);
        victim.getExecutor().interrupt();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        Rig.assertNothingLeft(agent, low);
        assertThat(Rig.log(victim), not(containsString("not reached")));
        assertTrue(preemptor.isBuilding(), "the preemptor has nothing to do with it");
        ends(preemptor);
    }

    @Test
    @Tag("slow")
    void whatRunsInItsPlaceGivesWayBeforeItsTimeIsUp() throws Exception {
        freezeOnly(ROOMY_SECONDS);
        start(Rig.own(traced()));
        WorkflowRun preemptor = Rig.start(rig.pipeline("high", 1, Rig.own(Rig.endless())));
        StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
        Rig.awaitLog(victim, WARNED);
        // What runs in its place is protected from everybody else.
        PreemptibleConfiguration.get().setExemptSeconds(3600);
        Rig.awaitLog(preemptor, Reason.FROZEN_TIME_ENDS.sentence());
        Rig.awaitLog(victim, "Resumed on worker");
        assertFalse(Rig.log(victim).contains("no executor of its agent could be had"), "it was in time");
        assertEquals(0, StageRegistry.get().find(stage.id()).thawByMillis());
        Rig.awaitCounting(victim);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.awaitLog(preemptor, "Resumed on worker");
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Rig.countedAtLeast(victim, 4);
        Rig.countedAtLeast(preemptor, 1);
        Rig.assertNothingLeft(agent, low);
    }

    @Test
    @Tag("slow")
    void whereNoExecutorCanBeHadItsLogSaysSo() throws Exception {
        freezeOnly(SHORT_SECONDS);
        start(Rig.own(traced()));
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitState(StageState.SUSPENDED);
        Rig.awaitLog(victim, "no executor of its agent could be had");
        // It is served before items of better priority.
        FreeStyleProject better = rig.freestyle("better", 1, "true");
        better.scheduleBuild2(0);
        await("it waits")
                .atMost(Rig.PATIENCE)
                .until(() -> j.jenkins.getQueue().getBuildableItems().size() == 1);
        Rig.awaitAnotherLook();
        ends(preemptor);
        Rig.awaitLog(victim, "Resumed on worker");
        Rig.awaitCounting(victim);
        assertEquals(1, times(Rig.log(victim), "no executor of its agent could be had"));
        victimEnds();
        await("the better one runs").atMost(Rig.PATIENCE).until(() -> better.getLastBuild() != null);
        j.assertBuildStatusSuccess(j.waitForCompletion(better.getLastBuild()));
    }

    /** Nobody else wants its executor: it is frozen for its time, runs again, and is not frozen anew. */
    @Tag("slow")
    @Test
    void onRequestItIsFrozenOnceAndForItsTimeOnly() throws Exception {
        freezeOnly(SHORT_SECONDS);
        start(Rig.own(traced()));
        Rig.awaitLog(victim, "This stage cannot be dumped as it is.");
        CLICommandInvoker.Result asked = new CLICommandInvoker(j, "preemptible-suspend").invokeWithArgs("low", "1");
        assertEquals(0, asked.returnCode(), asked.stderr());
        assertThat(asked.stdout(), containsString("for at most 30"));
        StageRecord frozen = Rig.awaitState(StageState.SUSPENDED);
        assertTrue(frozen.byHand() && frozen.thawByMillis() > 0, frozen::toString);
        Rig.awaitLog(victim, "Resumed on worker");
        StageRecord runs = Rig.awaitState(StageState.RUNNING);
        assertFalse(runs.byHand(), "that is over");
        Rig.awaitAnotherLook();
        Rig.awaitAnotherLook();
        Rig.awaitCounting(victim);
        assertEquals(1, StageRegistry.get().find(frozen.id()).suspensions());
        assertThat(Rig.log(victim), not(containsString("stays suspended until")));
        victimEnds();
    }

    @Test
    @Tag("slow")
    void aStageThatCanBeDumpedGoesFirst() throws Exception {
        start(Rig.own(traced()));
        Rig.awaitLog(victim, "This stage cannot be dumped as it is.");
        DumbSlave second = AgentJvm.add(j, "second", Rig.LABEL, null);
        try {
            j.waitOnline(second);
            WorkflowRun other = Rig.start(rig.pipeline("other", 4, Rig.own(Rig.endless())));
            Rig.awaitLog(other, "count-3\n");
            FreeStyleBuild preemptor = preempt("high");
            Rig.awaitLog(other, "has the executor");
            assertThat(Rig.log(victim), not(containsString("Suspending this stage")));
            ends(preemptor);
            Rig.awaitLog(other, "Resumed on second");
            Rig.enough(other);
            j.assertBuildStatusSuccess(j.waitForCompletion(other));
            victimEnds();
        } finally {
            j.jenkins.removeNode(second);
        }
    }

    @Test
    void aStageThatWouldHoldMoreThanTheShareIsLeftAlone() throws Exception {
        PreemptibleConfiguration.get().setFrozenOnlyPercent(0);
        start(Rig.own(traced()));
        Rig.awaitLog(victim, "This stage cannot be dumped as it is.");
        WorkflowRun waiting = Rig.start(rig.pipeline("waits", 1, Rig.preemptor()));
        Rig.awaitLog(waiting, Reason.FROZEN_SHARE_REACHED.sentence());
        assertThat(Rig.log(victim), not(containsString("Suspending this stage")));
        PreemptibleConfiguration.get().setFrozenOnlyPercent(50);
        j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
        Rig.awaitLog(victim, InMemoryOnlyTest.FROM_FROZEN);
        victimEnds();
    }
}
