package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Result;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A stage that is in its agent's memory only, while the controller or the agent is away. */
@Tag("acceptance")
@Tag("soak")
class InMemoryOnlyRestartTest extends Restarts {

    private static final String OFF = "-DPREEMPTIBLE_CHECKPOINTS=off";

    @Test
    void theControllerRestarts() throws Throwable {
        String nested = Rig.nested(Rig.endless(), "sh 'touch after'").replace("'linux'", "'other'");
        sessions.then(j -> {
            PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
            Rig rig = new Rig(j);
            rig.inboundAgent(agents, "worker", OFF);
            rig.inboundAgent(agents, "other", OFF);
            suspendedForPipeline(rig, "own", "linux", Rig.own(Rig.endless()));
            suspendedForPipeline(rig, "nested", "other", nested);
            assertTrue(StageRegistry.get().all().stream().allMatch(StageRecord::memoryOnly));
        });
        agents.stop("other");
        agents.stop("worker");
        sessions.then(j -> {
            agents.start(j, Rig.inbound("worker", OFF));
            agents.start(j, Rig.inbound("other", OFF));
            for (StageRecord stage : StageRegistry.get().all()) {
                assertTrue(stage.frozen() && stage.memoryOnly(), stage::toString);
                assertEquals(
                        HowSuspended.Way.MEMORY_ONLY,
                        HowSuspended.on(stage.node()).way());
            }
            enough(build(j, "for-own"), "worker");
            enough(build(j, "for-nested"), "other");
            for (String form : List.of("own", "nested")) {
                String node = form.equals("own") ? "worker" : "other";
                goneOn(j, build(j, form), node);
                String log = Rig.log(build(j, form));
                assertThat(log, containsString(InMemoryOnlyTest.FROM_FROZEN));
                assertThat(log, not(containsString("sealed")));
                assertEquals(2, log.split(InMemoryOnlyTest.TOLD, -1).length, "said once: " + log);
            }
            nothingLeft(j, build(j, "own"), "worker");
            nothingLeft(j, build(j, "nested"), "other");
            assertThat(InMemoryOnlyTest.saved(j.jenkins.getRootDir()), not(containsString("imageKey")));
        });
    }

    /** One agent comes back with its stage, the other one's host has lost it: that shows before anybody asks for it. */
    @Test
    void theAgentIsAway() throws Throwable {
        sessions.then(j -> {
            PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
            Rig rig = new Rig(j);
            rig.inboundAgent(agents, "worker", OFF);
            rig.inboundAgent(agents, "other", OFF);
            suspendedForPipeline(rig, "kept", "linux", Rig.own(Rig.endless()));
            suspendedForPipeline(rig, "lost", "other", Rig.own(Rig.endless()).replace("'linux'", "'other'"));
            agents.stop("worker");
            agents.stop("other");
            for (String name : List.of("worker", "other")) {
                await().atMost(Rig.PATIENCE)
                        .until(() -> j.jenkins.getComputer(name).isOffline());
            }
            InMemoryOnlyTest.kill(StageRegistry.get().all().stream()
                    .filter(stage -> stage.node().equals("other"))
                    .findFirst()
                    .orElseThrow());
            agents.start(j, Rig.inbound("worker", OFF));
            agents.start(j, Rig.inbound("other", OFF));
            WorkflowRun lost = build(j, "lost");
            j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(lost));
            assertThat(Rig.log(lost), containsString("the agent 'other' keeps suspended stages in memory only"));
            assertEquals(
                    StageState.SUSPENDED, Rig.awaitState(StageState.SUSPENDED).state());
            assertTrue(build(j, "for-lost").isBuilding(), "nobody has asked for the executor");
            enough(build(j, "for-lost"), "other");
            enough(build(j, "for-kept"), "worker");
            goneOn(j, build(j, "kept"), "worker");
            nothingLeft(j, build(j, "kept"), "worker");
        });
    }
}
