package io.jenkins.plugins.preemptible.queue.snapshot;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotNull;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.ExtensionList;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.slaves.DumbSlave;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.time.Duration;
import java.util.Arrays;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.SleepBuilder;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** What the queue asks of us under its lock, with many stages and reservations; tells how long an answer takes. */
@WithJenkins
@Tag("soak")
class DispatcherCostTest {

    private static final int STAGES = 500;
    private static final int RESERVATIONS = 100;
    private static final int ROUNDS = 9;
    private static final int CALLS = 50_000;

    @Test
    void answersTakeMicroseconds(JenkinsRule j) throws Exception {
        DumbSlave agent = j.createSlave("worker", "linux", null);
        agent.setNumExecutors(1);
        j.waitOnline(agent);
        DumbSlave other = j.createSlave("other", "elsewhere", null);
        j.waitOnline(other);
        FreeStyleProject built = j.createFreeStyleProject("built");
        built.getBuildersList().add(new SleepBuilder(3_600_000));
        // Stages without a build that runs would be dropped as lost.
        FreeStyleBuild build = built.scheduleBuild2(0).waitForStart();
        for (int i = 0; i < STAGES; i++) {
            StageRecord stage = StageRecord.running(
                    "stage-" + i,
                    StageRecord.Form.OWN,
                    build.getExternalizableId(),
                    "stage",
                    "other",
                    "/tmp/" + i,
                    null,
                    3,
                    0);
            StageRegistry.get().add(stage);
            if (i < RESERVATIONS) {
                Reservations.get().begin("holder-" + i, stage);
                Reservations.get().open("holder-" + i);
            }
        }
        FreeStyleProject job = j.createProject(FreeStyleProject.class, "job");
        job.setAssignedLabel(Label.get("nowhere"));
        job.scheduleBuild2(0);
        Queue.BuildableItem item = await("an item that waits")
                .atMost(Duration.ofMinutes(3))
                .until(
                        () -> Queue.getInstance().getBuildableItems().stream()
                                .findFirst()
                                .orElse(null),
                        found -> found != null);
        StageDispatcher dispatcher =
                j.jenkins.getExtensionList(StageDispatcher.class).get(0);
        assertNull(dispatcher.canTake(agent, item), "nothing is reserved there");
        assertNotNull(dispatcher.canTake(other, item), "every executor there is reserved");
        assertNull(dispatcher.canRun(item));
        tell("canTake, nothing reserved", () -> dispatcher.canTake((Node) agent, item));
        tell("canTake, " + RESERVATIONS + " reserved on the agent", () -> dispatcher.canTake((Node) other, item));
        tell("canRun", () -> dispatcher.canRun(item));
        StageRegistry.get().save();
        // As after a restart of the controller.
        ExtensionList<StageRegistry> registry = ExtensionList.lookup(StageRegistry.class);
        registry.remove(0);
        registry.add(new StageRegistry());
        assertNotNull(dispatcher.canTake(other, item), "the stages there go first");
        tell("canTake, " + STAGES + " first turns on another agent", () -> dispatcher.canTake((Node) agent, item));
        tell("canTake, " + STAGES + " first turns on the agent", () -> dispatcher.canTake((Node) other, item));
        for (int i = 0; i < STAGES; i++) {
            assertTrue(StageRegistry.get().firstTurnsOn("other"), "with " + i + " of them done");
            assertFalse(StageRegistry.get().firstTurnsOn("worker"));
            if (i % 2 == 0) {
                StageRegistry.get().firstTurnDone("stage-" + i);
                StageRegistry.get().firstTurnDone("stage-" + i);
            } else {
                StageRegistry.get().ended("stage-" + i);
            }
        }
        assertFalse(StageRegistry.get().firstTurnsOn("other"));
        Queue.getInstance().cancel(item);
        build.getExecutor().interrupt();
        j.waitForCompletion(build);
    }

    private static void tell(String what, Runnable call) {
        double[] micros = new double[ROUNDS];
        for (int round = 0; round < ROUNDS; round++) {
            long begun = System.nanoTime();
            for (int i = 0; i < CALLS; i++) {
                call.run();
            }
            micros[round] = (System.nanoTime() - begun) / 1000.0 / CALLS;
        }
        Arrays.sort(micros);
        System.out.printf(
                "%s: %.2f us median of %d rounds (%.2f-%.2f)%n",
                what, micros[ROUNDS / 2], ROUNDS, micros[0], micros[ROUNDS - 1]);
    }
}
