package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.container.RealContainers;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** A stage that lives in a container, while the controller and the agent's process restart. */
@Tag("acceptance")
class ContainedRestartTest extends Restarts {

    private static final String SCRIPT = "node('linux') { docker.image('" + RealContainers.IMAGE
            + "').inside('--network none') { preemptible { sh '''set +x\n" + Rig.endless() + "\n''' } } }";

    private static ContainerRef container() {
        StageRecord stage = StageRegistry.get().all().iterator().next();
        assertTrue(stage.enterCommand() instanceof EnterCommand.Contained, stage::toString);
        return ((EnterCommand.Contained) stage.enterCommand()).container();
    }

    @Test
    void itRunsOn() throws Throwable {
        try (RealContainers real = RealContainers.open("docker")) {
            ContainerRef[] container = new ContainerRef[1];
            sessions.then(j -> {
                Rig rig = new Rig(j);
                rig.inboundAgent(agents, "worker");
                Rig.awaitLog(Rig.start(rig.pipeline("victim", 5, SCRIPT)), "count-5\n");
                container[0] = container();
            });
            agents.stop("worker");
            assertEquals("running", real.status(container[0]));
            sessions.then(j -> {
                agents.start(j, Rig.inbound("worker"));
                WorkflowRun victim = build(j, "victim");
                Rig.awaitCounting(victim);
                Rig.enough(victim);
                j.assertBuildStatusSuccess(j.waitForCompletion(victim));
                Rig.countedAtLeast(victim, 6);
                nothingLeft(j, victim, "worker");
            });
            await("the container is gone").atMost(Rig.PATIENCE).until(() -> !real.exists(container[0]));
        }
    }
}
