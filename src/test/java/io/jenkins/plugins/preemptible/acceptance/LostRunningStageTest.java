package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.model.Result;
import hudson.slaves.OfflineCause;
import java.nio.file.Files;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A running stage without checkpoints, whose agent has connected again. */
@Tag("acceptance")
class LostRunningStageTest extends OnTwoHosts {

    @RegisterExtension
    static final Periods PERIODS = new Periods().stepsWait(Duration.ofMinutes(5));

    private static final String LOST = "The host of the agent 'A' has lost this stage's processes";

    private WorkflowRun running() throws Exception {
        hosts.connect("A");
        WorkflowRun run = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
        Rig.awaitLog(run, "count-3\n");
        return run;
    }

    private void disconnect() throws Exception {
        j.jenkins
                .getNode("A")
                .toComputer()
                .disconnect(new OfflineCause.ByCLI("a test"))
                .get();
    }

    @Tag("slow")
    @Test
    void itsLogSaysWhatARestartOfTheHostHasTakenAndWhatHelps() throws Exception {
        WorkflowRun run = running();
        hosts.boot("A");
        disconnect();
        hosts.connectAgain("A");
        Rig.awaitLog(run, LOST);
        assertThat(
                Rig.log(run), containsString("With checkpointEvery: MINUTES it would go on from its last checkpoint."));
        disconnect();
        hosts.connectAgain("A");
        // The agent is asked again ten seconds after it has connected.
        TimeUnit.SECONDS.sleep(15);
        assertEquals(2, Rig.log(run).split(LOST, -1).length, "said once");
        run.doStop();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(run));
    }

    @Test
    @Tag("slow")
    void nothingIsSaidWhereItRunsOn() throws Exception {
        WorkflowRun run = running();
        disconnect();
        hosts.connectAgain("A");
        Rig.awaitCounting(run);
        TimeUnit.SECONDS.sleep(15);
        Files.createFile(hosts.workspace("A", "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
        assertThat(Rig.log(run), not(containsString(LOST)));
    }
}
