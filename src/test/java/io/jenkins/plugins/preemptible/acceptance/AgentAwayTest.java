package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;

import java.time.Duration;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/**
 * The agent of a suspended stage is disconnected for longer than Pipeline waits for the agents of running steps, and
 * connects again.
 */
@Tag("acceptance")
class AgentAwayTest extends Restarts {

    /** For this long Pipeline waits here, in place of five minutes. */
    private static final Duration PATIENCE_OF_STEPS = Duration.ofSeconds(4);

    private static final String GIVEN_UP = "assuming it is not coming back";

    @RegisterExtension
    static final Periods PERIODS =
            new Periods().stepsWait(PATIENCE_OF_STEPS).with("lifecycle.SuspendedSteps.periodMillis", 500);

    /** The steps that run there are given up, so the outage was long enough; the suspended ones wait and are resumed. */
    @Test
    @Tag("soak")
    void suspendedStagesWait() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            rig.inboundAgent(agents, "other");
            suspendedForPipeline(rig, "own", "linux", Rig.own(Rig.endless()));
            suspendedForPipeline(
                    rig,
                    "nested",
                    "other",
                    Rig.nested(Rig.endless(), "sh 'touch after'").replace("'linux'", "'other'"));
            Rig.awaitSealed(build(j, "own"), 1);
            Rig.awaitSealed(build(j, "nested"), 1);
            agents.stop("worker");
            agents.stop("other");
            for (String form : List.of("own", "nested")) {
                Rig.awaitLog(build(j, "for-" + form), GIVEN_UP);
                missesItsAgent(build(j, form));
            }
            for (String form : List.of("own", "nested")) {
                String name = form.equals("own") ? "worker" : "other";
                agents.start(j, Rig.inbound(name));
                enough(build(j, "for-" + form), name);
                goneOn(j, build(j, form), name);
            }
            nothingLeft(j, build(j, "own"), "worker");
            nothingLeft(j, build(j, "nested"), "other");
        });
    }

    /** The controller restarts meanwhile. */
    @Test
    @Tag("soak")
    void controllerRestartsMeanwhile() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            suspendedForPipeline(rig, "own", "linux", Rig.own(Rig.endless()));
            Rig.awaitSealed(build(j, "own"), 1);
            agents.stop("worker");
            Rig.awaitLog(build(j, "for-own"), GIVEN_UP);
        });
        sessions.then(j -> {
            missesItsAgent(build(j, "own"));
            agents.start(j, Rig.inbound("worker"));
            enough(build(j, "for-own"), "worker");
            goneOn(j, build(j, "own"), "worker");
            nothingLeft(j, build(j, "own"), "worker");
        });
    }

    /** The step's looks become rare while nothing happens, hence so long. */
    private static void missesItsAgent(WorkflowRun victim) throws Exception {
        Rig.awaitLog(victim, " seems to be removed or offline");
        await(victim + " waits")
                .during(PATIENCE_OF_STEPS.multipliedBy(3))
                .atMost(Rig.PATIENCE)
                .failFast(() -> !victim.isBuilding())
                .until(victim::isBuilding);
        assertThat(Rig.log(victim), not(containsString(GIVEN_UP)));
    }
}
