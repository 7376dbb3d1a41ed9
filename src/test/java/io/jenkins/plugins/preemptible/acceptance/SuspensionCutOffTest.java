package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;

import hudson.model.FreeStyleProject;
import hudson.util.RemotingDiagnostics;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The connection to the agent is lost while a stage is being suspended. */
@Tag("acceptance")
class SuspensionCutOffTest extends Restarts {

    static {
        System.setProperty("io.jenkins.plugins.preemptible.lifecycle.Suspension.passingRetryMillis", "500");
    }

    /** A lost connection is no reason to spare the stage for minutes. */
    @Test
    void isTriedAgainSoon() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowRun victim = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
            Rig.awaitLog(victim, "count-3\n");
            String agent = RemotingDiagnostics.executeGroovy(
                            "print ProcessHandle.current().pid()",
                            j.jenkins.getComputer("worker").getChannel())
                    .trim();
            FreeStyleProject high = rig.freestyle("high", 1, "true");
            // So that the suspension has no answer before the connection is lost.
            HostTool.run(10, List.of("kill", "-STOP", agent));
            high.scheduleBuild2(0);
            Rig.awaitState(StageState.SUSPENDING);
            j.jenkins.getComputer("worker").getChannel().close();
            Rig.awaitLog(victim, "Not suspended, since the agent could not be asked");
            HostTool.run(10, List.of("kill", "-KILL", agent));
            agents.stop("worker");
            agents.start(j, Rig.inbound("worker"));
            await("high has run").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
            j.assertBuildStatusSuccess(j.waitForCompletion(high.getLastBuild()));
            goneOn(j, victim, "worker");
            nothingLeft(j, victim, "worker");
        });
    }
}
