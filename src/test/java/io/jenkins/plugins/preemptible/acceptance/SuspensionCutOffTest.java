package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;

import hudson.model.FreeStyleProject;
import hudson.model.Slave;
import hudson.util.RemotingDiagnostics;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.JenkinsRule;

/** The connection to the agent is lost, or the controller's disk is full, while a stage is being suspended. */
@Tag("acceptance")
@Tag("slow")
class SuspensionCutOffTest extends Restarts {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("lifecycle.Suspension.passingRetryMillis", 500);

    /** A lost connection is no reason to spare the stage for minutes. */
    @Test
    void isTriedAgainSoonAfterALostConnection() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            WorkflowRun victim = begun(rig);
            FreeStyleProject high = rig.freestyle("high", 1, "true");
            String agent = beingSuspended(j, high);
            j.jenkins.getComputer("worker").getChannel().close();
            Rig.awaitLog(victim, "Not suspended, since the agent could not be asked");
            signal("KILL", agent);
            agents.stop("worker");
            agents.start(j, Rig.inbound("worker"));
            hasRun(j, high);
            goneOn(j, victim, "worker");
            nothingLeft(j, victim, "worker");
            // The killed process may have been in the middle of one.
            String rehearsals = ((Slave) j.jenkins.getNode("worker")).getRemoteFS() + "/preemptible/rehearsal/";
            await("rehearsals end")
                    .atMost(Rig.PATIENCE)
                    .until(() -> HostProcesses.mentioning(rehearsals).isEmpty());
        });
    }

    /** Nor is a disk that has no room for the stage's record at that moment. */
    @Test
    void isTriedAgainSoonAfterARecordThatCouldNotBeSaved() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            WorkflowRun victim = begun(rig);
            FreeStyleProject high = rig.freestyle("high", 1, "true");
            String agent = beingSuspended(j, high);
            Path records = j.jenkins.getRootDir().toPath().resolve("preemptible-stages");
            Path aside = Files.move(records, records.resolveSibling("aside"));
            Files.createFile(records);
            signal("CONT", agent);
            Rig.awaitLog(victim, "Not suspended: ");
            Files.delete(records);
            Files.move(aside, records);
            hasRun(j, high);
            goneOn(j, victim, "worker");
            nothingLeft(j, victim, "worker");
        });
    }

    private WorkflowRun begun(Rig rig) throws Exception {
        rig.inboundAgent(agents);
        WorkflowRun victim = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
        Rig.awaitLog(victim, "count-3\n");
        return victim;
    }

    /** @return the agent's process, which is stopped, so that the suspension has no answer */
    private static String beingSuspended(JenkinsRule j, FreeStyleProject high) throws Exception {
        String agent = RemotingDiagnostics.executeGroovy(
                        "print ProcessHandle.current().pid()",
                        j.jenkins.getComputer("worker").getChannel())
                .trim();
        signal("STOP", agent);
        high.scheduleBuild2(0);
        Rig.awaitState(StageState.SUSPENDING);
        return agent;
    }

    private static void signal(String name, String process) {
        HostTool.run(10, List.of("kill", "-" + name, process));
    }

    private static void hasRun(JenkinsRule j, FreeStyleProject high) throws Exception {
        await("high has run").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        j.assertBuildStatusSuccess(j.waitForCompletion(high.getLastBuild()));
    }
}
