package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.cli.CLICommandInvoker;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import java.nio.file.Files;
import java.time.Duration;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A user takes a move back while the new agent's process hangs. */
@Tag("acceptance")
@Tag("slow")
class MoveTakenBackTest extends MovedStages {

    private static final int SIGSTOP = 19;
    private static final int SIGCONT = 18;

    @RegisterExtension
    static final Periods PERIODS =
            new Periods().with("move.MoveUnderWay.tellMillis", 3000).with("move.LeftAgent.delayMillis", 500);

    private static void awaitState(java.util.concurrent.Callable<Boolean> reached) {
        await("the move is under way")
                .atMost(LONG)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(1))
                .until(reached);
    }

    private CLICommandInvoker.Result resume() {
        return new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
    }

    private static void awaitTold(WorkflowRun stage) {
        assumeTrue(record().restoringOn() == null && "A".equals(record().node()), "B was asked before it hung");
        // Not that of the trial, which comes before.
        await("the log says what is waited for")
                .atMost(LONG)
                .until(() -> Rig.log(stage).matches("(?s).*Moving to B: (waits for an answer of |the ).*"));
    }

    @Test
    void aMoveToAnAgentThatHangsIsTakenBack() throws Exception {
        WorkflowRun stage = begin(largeCounter());
        suspend(stage, 1);
        hosts.connect("B");
        move("B");
        awaitState(() -> record().state() == StageState.RESUMING);
        hosts.signal("B", SIGSTOP);
        try {
            awaitTold(stage);
            assertThat(Rig.log(stage), containsString("Nothing of the stage is changed yet"));
            CLICommandInvoker.Result resume = resume();
            assertEquals(0, resume.returnCode(), resume.stderr());
            assertThat(resume.stdout(), containsString("to B is taken back: nothing of the stage was changed."));
            Rig.awaitLog(stage, "Not moved. The move to B was taken back by ");
            Rig.awaitLog(stage, "Resumed on A");
            assertNull(record().moveTo());
        } finally {
            hosts.signal("B", SIGCONT);
        }
        awaitClean("B");
        endsOn("A", stage);
        assertThat(Rig.log(stage), not(containsString("Moved from A")));
    }

    /** Nobody has asked for it: a build has the stage's own agent. */
    @Test
    @Tag("slow")
    void aMoveByItselfIsTakenBackToo() throws Exception {
        WorkflowRun stage = begin(largeCounter());
        rig.occupy("A");
        Rig.awaitSealed(stage, 1);
        hosts.connect("B");
        awaitState(() -> record().state() == StageState.RESUMING);
        hosts.signal("B", SIGSTOP);
        try {
            awaitTold(stage);
            assertEquals(4, resume().returnCode(), "of all stages of the build");
            CLICommandInvoker.Result resume =
                    new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1", record().id());
            assertEquals(0, resume.returnCode(), resume.stderr());
            assertThat(resume.stdout(), containsString("is taken back: nothing of the stage was changed."));
            Rig.awaitLog(stage, "Not moved. The move to B was taken back by ");
        } finally {
            hosts.signal("B", SIGCONT);
        }
        Files.createFile(hosts.workspace("A", "busy").resolve("enough"));
        Rig.awaitLog(stage, "Resumed on A");
        awaitClean("B");
        endsOn("A", stage);
    }

    @Test
    @Tag("slow")
    void aMoveIsNotTakenBackOnceTheAgentWasAsked() throws Exception {
        WorkflowRun stage = begin(largeCounter());
        suspend(stage, 1);
        hosts.connect("B");
        move("B");
        awaitState(() -> record().restoringOn() != null || "B".equals(record().node()));
        hosts.signal("B", SIGSTOP);
        try {
            assumeTrue("B".equals(record().restoringOn()), "B had answered before it hung");
            Rig.awaitLog(stage, "Moving to B: waits for B to restore the stage, for ");
            assumeTrue("B".equals(record().restoringOn()), "B's answer was on its way");
            CLICommandInvoker.Result resume = resume();
            assertEquals(4, resume.returnCode());
            assertThat(resume.stderr(), containsString("was asked to restore it and has not answered"));
        } finally {
            hosts.signal("B", SIGCONT);
        }
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
    }
}
