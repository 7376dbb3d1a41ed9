package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.cli.CLICommandInvoker;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.nio.file.Files;
import java.time.Duration;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.jvnet.hudson.test.JenkinsRule;

/** How far the move of a stage that ran on A, and that a user wants on B, is when something else happens. */
enum RunningMove {
    /** A step that is no process is in the way, for longer than a restart of the controller takes. */
    STAGE_RUNS,
    /** Its agent is about to be told to freeze it. */
    SUSPENDING,
    /** Its image is not stored yet. */
    FROZEN,
    /** B has no idle executor. */
    SEALED,
    /** The image is fetched for B. */
    MOVING;

    private static final Duration LONG = Duration.ofMinutes(4);

    /** Begins a stage of the job {@code low}, asks for its move, and waits until that is so far. {@link HeldArtifacts} are shut then. */
    WorkflowRun begin(JenkinsRule j, Rig rig, TwoHosts hosts) throws Exception {
        HeldArtifacts.install();
        hosts.connect("A");
        String shell = MovedStages.counter();
        String body = this == STAGE_RUNS ? "parallel(one: {\n" + shell + "\n}, other: { sleep 75 })" : shell;
        WorkflowRun stage =
                Rig.start(rig.pipeline("low", 5, "preemptible(label: '" + Rig.LABEL + "') {\n" + body + "\n}"));
        Rig.awaitLog(stage, "count-3\n");
        hosts.connect("B");
        if (this == SUSPENDING) {
            StageRegistry.get().update(record().id(), StageChanges.moveTo("B").andThen(StageChanges.chosen()));
            return stage;
        }
        if (this == FROZEN) {
            HeldArtifacts.shut();
        } else if (this != STAGE_RUNS) {
            rig.occupy("B");
        }
        await("it is taken").atMost(LONG).untilAsserted(() -> {
            CLICommandInvoker.Result said =
                    new CLICommandInvoker(j, "preemptible-move").invokeWithArgs("low", "1", "--to", "B");
            assertThat(said.stdout() + said.stderr(), containsString("resumes on B as soon as its image is sealed"));
        });
        if (this == STAGE_RUNS) {
            Rig.awaitLog(stage, "Not suspended yet.");
        } else if (this != FROZEN) {
            Rig.awaitSealed(stage, 1);
        }
        if (this == MOVING) {
            HeldArtifacts.shut();
            Files.createFile(hosts.workspace("B", "busy").resolve("enough"));
        }
        if (this == FROZEN || this == MOVING) {
            await("its image is held up").atMost(LONG).until(() -> HeldArtifacts.waiting() == 1);
        }
        assertEquals("B", record().moveTo());
        return stage;
    }

    static StageRecord record() {
        return StageRegistry.get().all().iterator().next();
    }
}
