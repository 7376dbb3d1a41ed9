package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Result;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A stage that is frozen with its container, while the controller and the agent's process restart. */
@Tag("acceptance")
@Tag("slow")
class ContainerRestartTest extends Restarts {

    private static final class Paused {
        private ContainerRef container;
    }

    private Paused paused(RealContainers real, ContainerTest.Place place) throws Throwable {
        Paused paused = new Paused();
        sessions.then(j -> {
            FrozenOnlyTest.freezeOnly(600);
            Rig rig = new Rig(j);
            rig.inboundAgent(agents, "worker");
            suspendedForPipeline(rig, "victim", "linux", place.script(Rig.endless()));
            StageRecord stage = StageRegistry.get().all().iterator().next();
            paused.container = stage.containers().all().get(0);
            assertEquals("paused", real.status(paused.container));
        });
        agents.stop("worker");
        return paused;
    }

    private static void isGone(RealContainers real, ContainerRef container) {
        await(container.shown() + " is gone").atMost(Rig.PATIENCE).until(() -> !real.exists(container));
    }

    @ParameterizedTest
    @EnumSource(
            value = ContainerTest.Place.class,
            names = {"AROUND", "INSIDE_OWN"})
    void bothRestart(ContainerTest.Place place) throws Throwable {
        try (RealContainers real = RealContainers.open("docker")) {
            ContainerRef container = paused(real, place).container;
            sessions.then(j -> {
                agents.start(j, Rig.inbound("worker"));
                StageRecord stage = StageRegistry.get().all().iterator().next();
                assertTrue(stage.frozen() && stage.memoryOnly() && stage.thawByMillis() > 0, stage::toString);
                assertEquals("paused", real.status(container));
                enough(build(j, "for-victim"), "worker");
                goneOn(j, build(j, "victim"), "worker");
                assertThat(Rig.log(build(j, "victim")), containsString(InMemoryOnlyTest.FROM_FROZEN));
                nothingLeft(j, build(j, "victim"), "worker");
            });
            isGone(real, container);
        }
    }

    @ParameterizedTest
    @EnumSource(
            value = ContainerTest.Place.class,
            names = {"AROUND", "INSIDE_OWN"})
    void abortedAfterBothHaveRestarted(ContainerTest.Place place) throws Throwable {
        try (RealContainers real = RealContainers.open("docker")) {
            ContainerRef container = paused(real, place).container;
            sessions.then(j -> {
                agents.start(j, Rig.inbound("worker"));
                WorkflowRun victim = build(j, "victim");
                await("its executor").atMost(Rig.PATIENCE).until(() -> victim.getExecutor() != null);
                await("the agent")
                        .atMost(Rig.PATIENCE)
                        .until(() -> j.jenkins.getComputer("worker").isOnline());
                victim.getExecutor().interrupt();
                j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
                enough(build(j, "for-victim"), "worker");
                j.assertBuildStatusSuccess(j.waitForCompletion(build(j, "for-victim")));
                nothingLeft(j, victim, "worker");
            });
            isGone(real, container);
        }
    }
}
