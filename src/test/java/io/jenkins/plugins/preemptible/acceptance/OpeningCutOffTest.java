package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;

import hudson.LauncherDecorator;
import hudson.model.FreeStyleBuild;
import hudson.model.Slave;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.jenkinsci.plugins.workflow.steps.DynamicContext;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.TestExtension;

/** The controller restarts while a stage's sandbox is there and its body has not begun. */
@Tag("soak")
class OpeningCutOffTest extends Restarts {

    private static volatile boolean held;
    private static volatile boolean reached;

    /** The beginning of a stage asks for this last, and stays here for ever: its controller is gone. */
    @TestExtension
    public static final class Held extends DynamicContext.Typed<LauncherDecorator> {
        @Override
        protected Class<LauncherDecorator> type() {
            return LauncherDecorator.class;
        }

        @Override
        protected LauncherDecorator get(DelegatedContext context) throws InterruptedException {
            boolean begins = StackWalker.getInstance()
                    .walk(frames ->
                            frames.anyMatch(frame -> frame.getMethodName().equals("begin")
                                    && frame.getClassName().contains(".preemptible.step.")));
            if (held && begins) {
                reached = true;
                new CountDownLatch(1).await();
            }
            return null;
        }
    }

    @Test
    void nestedStageIsBegunAgain() throws Throwable {
        sessions.then(j -> {
            reached = false;
            held = true;
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            Rig.start(rig.pipeline("low", 5, Rig.nested(Rig.endless(), "sh 'true'")));
            // On a busy machine the first agent's classes take their time.
            await("a sandbox")
                    .atMost(Duration.ofMinutes(3))
                    .until(() -> reached
                            && StageRegistry.get().all().stream().anyMatch(stage -> stage.enterCommand() != null));
        });
        held = false;
        Rig.restart(sessions, agents, j -> {
            WorkflowRun low = build(j, "low");
            Rig.awaitLog(low, "count-3\n");
            FreeStyleBuild preemptor =
                    new Rig(j).freestyle("high", 1, "true").scheduleBuild2(0).waitForStart();
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
            goneOn(j, low, "worker");
            Rig.assertNothingLeft((Slave) j.jenkins.getNode("worker"), low.getParent());
        });
    }
}
