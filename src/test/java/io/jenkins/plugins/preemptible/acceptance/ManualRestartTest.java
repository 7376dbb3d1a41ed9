package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import hudson.cli.CLICommandInvoker;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Slave;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;

/** What users asked for holds after a restart of the controller, until it is undone. */
@Tag("acceptance")
@Tag("soak")
class ManualRestartTest extends Restarts {

    /** One stage of each form is suspended manually, a third build is never preempted, and their agent is drained. */
    @Test
    void whatWasAskedForByHandStillHolds() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            Slave agent = rig.inboundAgent(agents);
            agent.setNumExecutors(2);
            j.jenkins.updateNode(agent);
            for (String form : List.of("own", "nested")) {
                String stage =
                        form.equals("own") ? Rig.own(Rig.endless()) : Rig.nested(Rig.endless(), "sh 'touch after'");
                WorkflowRun held = Rig.start(rig.pipeline(form, 5, stage));
                Rig.awaitLog(held, "count-5\n");
                command(j, "preemptible-suspend", form, "1");
                await(form + " is suspended")
                        .atMost(Rig.PATIENCE)
                        .until(() -> suspended() == (form.equals("own") ? 1 : 2));
            }
            WorkflowRun exempt = Rig.start(rig.pipeline("exempt", 5, Rig.nested(Rig.endless(), "echo 'after'")));
            Rig.awaitLog(exempt, "count-5\n");
            command(j, "preemptible-never", "exempt", "1");
            command(j, "preemptible-drain", "worker");
            rig.freestyle("high", 1, Rig.untilEnough()).scheduleBuild2(0);
            rig.pipeline("late", 1, Rig.preemptor());
            await("only the two suspended manually and the item wait, and the agent is drained")
                    .atMost(Rig.PATIENCE)
                    .until(() ->
                            waiting(0).equals(Map.of(Reason.SUSPENDED_BY_HAND, 2L, Reason.AGENT_NOT_ACCEPTING, 1L)));
        });
        long down = System.currentTimeMillis();
        Rig.restart(sessions, agents, j -> {
            Slave agent = (Slave) j.jenkins.getNode("worker");
            FreeStyleProject high = j.jenkins.getItemByFullName("high", FreeStyleProject.class);
            Rig.awaitCounting(build(j, "exempt"));
            await("one executor is idle, and nobody gets it")
                    .atMost(Rig.PATIENCE)
                    .until(() -> agent.toComputer().countIdle() == 1
                            && waiting(down)
                                    .equals(Map.of(Reason.SUSPENDED_BY_HAND, 2L, Reason.AGENT_NOT_ACCEPTING, 1L)));
            assertEquals(2, suspended());
            assertNull(high.getLastBuild(), "nothing enters a drained agent");

            command(j, "preemptible-drain", "worker", "--undo");
            await("the item has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
            FreeStyleBuild entered = high.getLastBuild();
            WorkflowRun late = Rig.start(j.jenkins.getItemByFullName("late", WorkflowJob.class));
            await("the next item waits since the only running stage is exempt")
                    .atMost(Rig.PATIENCE)
                    .until(() -> waiting(down).containsKey(Reason.NEVER_PREEMPT));
            Rig.awaitCounting(build(j, "exempt"));
            Rig.enough(entered);
            j.assertBuildStatusSuccess(j.waitForCompletion(entered));
            j.assertBuildStatusSuccess(j.waitForCompletion(late));

            await("an executor is idle, and a look at the queue came after that")
                    .atMost(Rig.PATIENCE)
                    .until(() -> agent.toComputer().countIdle() == 1
                            && waiting(down).equals(Map.of(Reason.SUSPENDED_BY_HAND, 2L)));
            assertEquals(2, suspended());
            for (String form : List.of("own", "nested")) {
                assertThat(Rig.log(build(j, form)), not(containsString("Resumed on")));
                command(j, "preemptible-resume", form, "1");
                goneOn(j, build(j, form), "worker");
            }
            WorkflowRun exempt = build(j, "exempt");
            Rig.enough(exempt);
            j.assertBuildStatusSuccess(j.waitForCompletion(exempt));
            Rig.countedAtLeast(exempt, 6);
            assertThat(Rig.log(exempt), not(containsString("uspend")));
            for (String job : List.of("own", "nested", "exempt")) {
                Rig.assertNothingLeft(agent, build(j, job).getParent());
            }
        });
    }

    /** How many wait for which reason, as it was decided last; empty when nothing was decided after that moment. */
    private static Map<Reason, Long> waiting(long afterMillis) {
        LastDecision last = LastDecision.get();
        Map<Reason, Long> reasons = new EnumMap<>(Reason.class);
        if (last.snapshot() != null && last.snapshot().nowMillis() > afterMillis) {
            last.actions().forEach(action -> reasons.merge(action.reason(), 1L, Long::sum));
        }
        return reasons;
    }

    private static long suspended() {
        return StageRegistry.get().all().stream()
                .map(StageRecord::state)
                .filter(StageState.SUSPENDED::equals)
                .count();
    }

    private static void command(JenkinsRule j, String name, String... arguments) {
        CLICommandInvoker.Result result = new CLICommandInvoker(j, name).invokeWithArgs(arguments);
        assertEquals(0, result.returnCode(), () -> Arrays.toString(arguments) + ": " + result.stderr());
    }
}
