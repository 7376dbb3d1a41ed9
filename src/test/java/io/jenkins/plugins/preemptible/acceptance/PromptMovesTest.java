package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.cli.CLICommandInvoker;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.move.MoveTargetsListener;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.TestExtension;

/** What a move needs asks for the next evaluation itself: here the clock, which evaluates now and then, stands still. */
@Tag("acceptance")
class PromptMovesTest extends MovedStages {

    @RegisterExtension
    static final Periods PERIODS = new Periods()
            .with("queue.QueueWatch.periodMillis", TimeUnit.DAYS.toMillis(1))
            .with("move.LeftAgent.delayMillis", 500);

    /** For as long nothing has asked for an evaluation: whatever was under way is over. */
    private static final Duration QUIET = Duration.ofSeconds(3);

    @AfterEach
    void goOn() throws Exception {
        HeldArtifacts.open();
        if (hosts != null) {
            hosts.signal("B", LibC.SIGCONT);
        }
    }

    private static long evaluatedMillis() {
        Snapshot seen = LastDecision.get().snapshot();
        return seen == null ? 0 : seen.nowMillis();
    }

    private static void awaitQuiet() {
        long[] last = {-1};
        await("no further evaluation").atMost(LONG).during(QUIET).until(() -> {
            long now = evaluatedMillis();
            boolean same = now == last[0];
            last[0] = now;
            return same;
        });
    }

    /** A stage of the drained agent A whose image is just being stored; B fits. */
    private WorkflowRun sealing() throws Exception {
        HeldArtifacts.install();
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
        WorkflowRun stage = begin(counter());
        hosts.connect("B");
        HeldArtifacts.shut();
        assertEquals(
                0,
                new CLICommandInvoker(j, "preemptible-drain")
                        .invokeWithArgs("A")
                        .returnCode());
        await("the image is being stored").atMost(LONG).until(() -> HeldArtifacts.waiting() > 0);
        awaitQuiet();
        assertEquals("A", Rig.awaitState(StageState.SUSPENDED).node());
        return stage;
    }

    @Tag("slow")
    @Test
    void itsSealAsks() throws Exception {
        WorkflowRun stage = sealing();
        HeldArtifacts.open();
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
    }

    /** B does not answer until all that the seal has asked for is over. */
    @Test
    @Tag("slow")
    void itsTrialAsks() throws Exception {
        WorkflowRun stage = sealing();
        hosts.signal("B", LibC.SIGSTOP);
        HeldArtifacts.open();
        Rig.awaitSealed(stage, 1);
        awaitQuiet();
        assertEquals("A", Rig.awaitState(StageState.SUSPENDED).node());
        hosts.signal("B", LibC.SIGCONT);
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
    }

    /** Is told when an agent has described its host. */
    @TestExtension
    public static final class Described implements MoveTargetsListener {

        static final AtomicInteger TIMES = new AtomicInteger();

        @Override
        public void onMoveTargetsChanged() {
            TIMES.incrementAndGet();
        }

        static void awaited(String agent, int times) {
            await(agent + " has described its host").atMost(Rig.PATIENCE).until(() -> TIMES.get() >= times);
        }
    }

    /** An agent is asked about its host when it connects, and not only when the first stage could go there. */
    @Test
    @Tag("slow")
    void theFirstWishForAnAgentIsTaken() throws Exception {
        int before = Described.TIMES.get();
        WorkflowRun stage = begin(counter());
        Described.awaited("A", before + 1);
        suspend(stage, 1);
        hosts.connect("B");
        Described.awaited("B", before + 2);
        CLICommandInvoker.Result first =
                new CLICommandInvoker(j, "preemptible-move").invokeWithArgs("low", "1", "--to", "B");
        assertEquals(0, first.returnCode(), first::stderr);
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
    }
}
