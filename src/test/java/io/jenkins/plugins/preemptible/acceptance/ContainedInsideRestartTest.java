package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import hudson.model.Result;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A stage whose part in a container is dumped, while the controller and perhaps the agent's process restart. */
@Tag("acceptance")
@Tag("slow")
class ContainedInsideRestartTest extends Restarts {

    private ContainerRef sealed(RealContainers real, ContainedInsideTest.Form form, boolean agentToo) throws Throwable {
        ContainerRef[] container = new ContainerRef[1];
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents, "worker");
            suspendedForPipeline(rig, "victim", "linux", form.script(ContainedInsideTest.block(Rig.endless())));
            Rig.awaitSealed(build(j, "victim"), 1);
            container[0] = contained();
            assertEquals("running", real.status(container[0]));
        });
        if (agentToo) {
            agents.stop("worker");
        }
        return container[0];
    }

    private static ContainerRef contained() {
        StageRecord stage = StageRegistry.get().all().iterator().next();
        assertNotNull(stage.contained(), stage::toString);
        return stage.contained().container();
    }

    private static void isGone(RealContainers real, ContainerRef container) {
        await(container.shown() + " is gone").atMost(Rig.PATIENCE).until(() -> !real.exists(container));
    }

    @ParameterizedTest
    @CsvSource({"NESTED,true", "OWN,true", "OWN,false"})
    void restoredAfterIt(ContainedInsideTest.Form form, boolean agentToo) throws Throwable {
        try (RealContainers real = RealContainers.open("docker")) {
            ContainerRef container = sealed(real, form, agentToo);
            sessions.then(j -> {
                if (agentToo) {
                    agents.start(j, Rig.inbound("worker"));
                }
                await("the agent")
                        .atMost(Rig.PATIENCE)
                        .until(() -> j.jenkins.getComputer("worker").isOnline());
                assertEquals(container, contained());
                enough(build(j, "for-victim"), "worker");
                goneOn(j, build(j, "victim"), "worker");
                nothingLeft(j, build(j, "victim"), "worker");
            });
            isGone(real, container);
        }
    }

    @ParameterizedTest
    @CsvSource({"NESTED,true", "OWN,true"})
    void abortedAfterIt(ContainedInsideTest.Form form, boolean agentToo) throws Throwable {
        try (RealContainers real = RealContainers.open("docker")) {
            ContainerRef container = sealed(real, form, agentToo);
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
