package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Result;
import io.jenkins.plugins.preemptible.lifecycle.agents.FrozenOnly;
import io.jenkins.plugins.preemptible.lifecycle.agents.HowSuspended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A stage that cannot be dumped and is frozen, while the controller restarts or the agent is away. */
@Tag("acceptance")
@Tag("slow")
class FrozenOnlyRestartTest extends Restarts {

    @BeforeEach
    void strace() {
        Rig.assumeInstalled("strace", "strace");
    }

    @Test
    void theControllerRestarts() throws Throwable {
        long[] thawBy = new long[1];
        long[] held = new long[1];
        sessions.then(j -> {
            FrozenOnlyTest.freezeOnly(600);
            Rig rig = new Rig(j);
            rig.inboundAgent(agents, "worker");
            suspendedForPipeline(rig, "own", "linux", Rig.own(FrozenOnlyTest.traced()));
            Rig.awaitLog(build(j, "own"), FrozenOnlyTest.WARNED);
            thawBy[0] = StageRegistry.get().all().iterator().next().thawByMillis();
            assertTrue(thawBy[0] > 0);
            held[0] = FrozenOnly.heldBytes("worker");
            assertTrue(held[0] > 0, "its memory counts");
        });
        agents.stop("worker");
        sessions.then(j -> {
            agents.start(j, Rig.inbound("worker"));
            StageRecord stage = StageRegistry.get().all().iterator().next();
            assertTrue(stage.frozen() && stage.memoryOnly(), stage::toString);
            assertEquals(thawBy[0], stage.thawByMillis(), "its time goes on");
            assertEquals(held[0], FrozenOnly.heldBytes("worker"), "its memory counts still");
            assertTrue(HowSuspended.on("worker").way() != HowSuspended.Way.MEMORY_ONLY, "the agent makes images");
            enough(build(j, "for-own"), "worker");
            goneOn(j, build(j, "own"), "worker");
            String log = Rig.log(build(j, "own"));
            assertThat(log, containsString(InMemoryOnlyTest.FROM_FROZEN));
            assertThat(log, not(containsString("sealed")));
            assertEquals(2, log.split(FrozenOnlyTest.WARNED, -1).length, "warned once");
            nothingLeft(j, build(j, "own"), "worker");
        });
    }

    /** It is lost, and its build says how. */
    @Test
    void theHostHasLostIt() throws Throwable {
        sessions.then(j -> {
            FrozenOnlyTest.freezeOnly(600);
            Rig rig = new Rig(j);
            rig.inboundAgent(agents, "worker");
            suspendedForPipeline(rig, "own", "linux", Rig.own(FrozenOnlyTest.traced()));
            agents.stop("worker");
            InMemoryOnlyTest.kill(List.copyOf(StageRegistry.get().all()).get(0));
            agents.start(j, Rig.inbound("worker"));
            WorkflowRun lost = build(j, "own");
            j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(lost));
            assertThat(
                    Rig.log(lost), containsString("it could not be dumped and was frozen in the memory of the agent"));
            enough(build(j, "for-own"), "worker");
            nothingLeft(j, lost, "worker");
        });
    }
}
