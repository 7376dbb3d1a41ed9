package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.cli.CLICommandInvoker;
import hudson.model.Computer;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Label;
import hudson.model.Result;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.htmlunit.html.HtmlForm;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** A suspended stage resumes on another agent, on a real controller with two agents that run as root. */
@Tag("acceptance")
class MovingStageTest extends OnTwoHosts {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("move.LeftAgent.delayMillis", 500);

    /** What the stage has in its workspace, and what later steps find there. */
    private static final String LATER =
            "sh 'echo \"later on $NODE_NAME in $WORKSPACE\"; cat mark; ls \"$WORKSPACE_TMP\" >&2'\n"
                    + "dir('sub') { sh 'echo \"in $(pwd)\"' }\n"
                    + "stash name: 'kept', includes: 'mark'\n"
                    + "dir('again') { unstash 'kept'\n sh 'echo \"stashed: $(cat mark)\"' }\n"
                    + "junit 'report.xml'\n";

    private WorkflowRun begin(String script) throws Exception {
        hosts.connect("A");
        WorkflowJob low = rig.pipeline("low", 5, script);
        WorkflowRun stage = Rig.start(low);
        Rig.awaitLog(stage, "count-3\n");
        return stage;
    }

    private static String script(String counter) {
        return "preemptible(label: '" + Rig.LABEL
                + "') { sh '''echo marked > mark\necho \"<testsuite name='t' tests='1'><testcase classname='c' name='n'/></testsuite>\" > report.xml'''\n"
                + counter + "\n" + LATER + "}";
    }

    private static String counter() {
        return "sh '''set +x\n" + Rig.endless() + "\n'''";
    }

    /** A build that takes the executor of that agent and keeps it until it is told that it is enough. */
    private FreeStyleBuild occupy(String agent) throws Exception {
        FreeStyleProject high = rig.freestyle("high-" + agent, 1, Rig.untilEnough());
        high.setAssignedLabel(Label.get(agent));
        high.scheduleBuild2(0);
        await(high + " has started").atMost(LONG).until(() -> high.getLastBuild() != null);
        return high.getLastBuild();
    }

    private void ends(FreeStyleBuild build, String agent) throws Exception {
        Path workspace = hosts.workspace(agent, build.getParent().getName());
        await("a workspace of " + build).atMost(LONG).until(() -> Files.isDirectory(workspace));
        Files.createFile(workspace.resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(build));
    }

    private void endsOn(String agent, WorkflowRun stage) throws Exception {
        Rig.awaitCounting(stage);
        Files.createFile(hosts.workspace(agent, "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
        Rig.countedAtLeast(stage, 4);
        String workspace = StageLogs.between(Rig.log(stage), "later on " + agent + " in ", "\n");
        assertThat(Rig.log(stage), containsString("\nmarked\n"));
        assertThat(Rig.log(stage), containsString("in " + workspace + "/sub\n"));
        assertThat(Rig.log(stage), containsString("stashed: marked\n"));
        assertThat(Rig.log(stage), containsString("Recording test results"));
        await("no agent knows the stage any more").atMost(LONG).untilAsserted(() -> {
            assertEquals(0, hosts.stages("A"));
            assertEquals(0, hosts.stages("B"));
        });
    }

    private static void awaitMoved(WorkflowRun stage, String from, String to) {
        await("a move to " + to)
                .atMost(LONG)
                .until(() -> Rig.log(stage).contains("Moved from " + from + " to " + to + " in "));
        assertEquals(to, Rig.awaitState(StageState.RUNNING).node());
    }

    @Test
    void aStageWhoseAgentIsBusyGoesOnOnAnotherOne() throws Exception {
        WorkflowRun stage = begin(script(counter()));
        FreeStyleBuild high = occupy("A");
        Rig.awaitSealed(stage, 1);
        hosts.connect("B");
        awaitMoved(stage, "A", "B");
        assertTrue(high.isBuilding());
        endsOn("B", stage);
        ends(high, "A");
    }

    /** It is suspended and sealed, and goes on elsewhere while its own agent has an idle executor. */
    @Tag("slow")
    @Test
    void aStageOfADrainedAgentGoesOnOnAnotherOne() throws Exception {
        WorkflowRun stage = begin(script(counter()));
        hosts.connect("B");
        CLICommandInvoker.Result drain = new CLICommandInvoker(j, "preemptible-drain").invokeWithArgs("A");
        assertEquals(0, drain.returnCode(), drain.stderr());
        awaitMoved(stage, "A", "B");
        assertEquals(0, j.jenkins.getComputer("A").countBusy());
        endsOn("B", stage);
    }

    @Test
    @Tag("slow")
    void aStageComesBack() throws Exception {
        WorkflowRun stage = begin(script(counter()));
        FreeStyleBuild high = occupy("A");
        Rig.awaitSealed(stage, 1);
        hosts.connect("B");
        awaitMoved(stage, "A", "B");
        Rig.awaitCounting(stage);
        await("A is clean").atMost(LONG).until(() -> hosts.stages("A") == 0);
        ends(high, "A");
        FreeStyleBuild other = occupy("B");
        Rig.awaitSealed(stage, 2);
        awaitMoved(stage, "B", "A");
        endsOn("A", stage);
        ends(other, "B");
    }

    @Test
    @Tag("slow")
    void anOpenDirBlockFollows() throws Exception {
        WorkflowRun stage = begin(script(
                "dir('sub') { " + counter().replace("enough", "../enough") + "\nsh 'echo \"still in $(pwd)\"' }"));
        FreeStyleBuild high = occupy("A");
        Rig.awaitSealed(stage, 1);
        hosts.connect("B");
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
        String workspace = StageLogs.between(Rig.log(stage), "later on B in ", "\n");
        assertThat(Rig.log(stage), containsString("still in " + workspace + "/sub\n"));
        ends(high, "A");
    }

    @Test
    @Tag("slow")
    void somebodyMovesAStageThatIsSuspendedManually() throws Exception {
        WorkflowRun stage = begin(script(counter()));
        hosts.connect("B");
        // Nothing is begun for what cannot be.
        assertThat(move("A"), containsString(MoveObstacle.OWN_AGENT.sentence()));
        assertThat(move("(built-in)"), containsString(MoveObstacle.OTHER_LABEL.sentence()));
        assertEquals(
                0,
                new CLICommandInvoker(j, "preemptible-suspend")
                        .invokeWithArgs("low", "1")
                        .returnCode());
        Rig.awaitSealed(stage, 1);
        assertThat(move("no such agent"), containsString("There is no agent"));
        assertThat(move("A"), containsString(MoveObstacle.OWN_AGENT.sentence()));
        await("it is taken").atMost(LONG).until(() -> move("B").contains("as soon as an executor is idle there"));
        awaitMoved(stage, "A", "B");
        assertFalse(Rig.awaitState(StageState.RUNNING).byHand());
        endsOn("B", stage);
    }

    @Test
    @Tag("slow")
    void aStageIsMovedOnItsBuildsPage() throws Exception {
        WorkflowRun stage = begin(script(counter()));
        hosts.connect("B");
        new CLICommandInvoker(j, "preemptible-suspend").invokeWithArgs("low", "1");
        Rig.awaitSealed(stage, 1);
        await("B is offered").atMost(LONG).untilAsserted(() -> assertEquals(List.of("B"), offered(stage)));
        HtmlForm form = moveForm(stage);
        j.submit(form);
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
    }

    @Test
    @Tag("slow")
    void aStageStaysWhereItIsUnlessThatIsAllowed() throws Exception {
        PreemptibleConfiguration.get().setMoveStages(false);
        WorkflowRun stage = begin(script(counter()));
        FreeStyleBuild high = occupy("A");
        Rig.awaitSealed(stage, 1);
        hosts.connect("B");
        assertThat(move("B"), containsString(MoveObstacle.SWITCHED_OFF.sentence()));
        Rig.awaitAnotherLook();
        Rig.awaitAnotherLook();
        assertEquals("A", StageRegistry.get().all().iterator().next().node());
        ends(high, "A");
        Rig.awaitLog(stage, "Resumed on A");
        assertThat(Rig.log(stage), not(containsString("Moved from")));
        endsOn("A", stage);
    }

    @Test
    @Tag("slow")
    void aMoveThatIsRefusedLosesNothing() throws Exception {
        WorkflowRun stage = begin(script("sh 'mknod device c 1 5'\n" + counter()));
        FreeStyleBuild high = occupy("A");
        Rig.awaitSealed(stage, 1);
        hosts.connect("B");
        Rig.awaitLog(stage, "Not moved. The workspace holds something that cannot be moved");
        assertEquals("A", Rig.awaitState(StageState.SUSPENDED).node());
        ends(high, "A");
        Rig.awaitLog(stage, "Resumed on A");
        assertThat(Rig.log(stage), not(containsString("Moved from")));
        endsOn("A", stage);
    }

    /** A file of A's that the stage has open is not on B. */
    @Test
    @Tag("slow")
    void aTrialThatFailsComesBeforeTheExecutor() throws Exception {
        String held =
                "sh 'echo content > ../../held'\n" + counter().replace("set +x\n", "set +x; exec 4< ../../held\n");
        WorkflowRun stage = begin(script(held));
        FreeStyleBuild high = occupy("A");
        Rig.awaitSealed(stage, 1);
        hosts.connect("B");
        Rig.awaitLog(stage, "Not moved to B: The image was tried and cannot be restored");
        assertThat(Rig.log(stage), containsString("/held"));
        Rig.awaitAnotherLook();
        assertEquals("A", Rig.awaitState(StageState.SUSPENDED).node());
        assertThat(Rig.log(stage), not(containsString("Resumed on")));
        assertFalse(Files.exists(hosts.workspace("B", "low")));
        Path other = hosts.workspace("B", "low").getParent().resolveSibling("held");
        Files.writeString(other, "another\n");
        theWorkspaceIsInUse(stage);
        assertThat(move("B"), containsString("as soon as an executor is idle there"));
        awaitMoved(stage, "A", "B");
        endsOn("B", stage);
        ends(high, "A");
    }

    private void theWorkspaceIsInUse(WorkflowRun stage) throws Exception {
        Computer b = j.jenkins.getComputer("B");
        String workspace = StageRegistry.get().all().iterator().next().workspace();
        try (WorkspaceList.Lease lease =
                b.getWorkspaceList().acquire(b.getNode().createPath(workspace))) {
            assertThat(move("B"), containsString("as soon as an executor is idle there"));
            Rig.awaitLog(stage, "Not moved. The workspace of that path is in use on the other agent");
        }
    }

    @Test
    @Tag("slow")
    void aStageInsideOfWsStaysWhereItIs() throws Exception {
        WorkflowRun stage = begin(script("ws('elsewhere') {\n" + counter() + "\n}"));
        FreeStyleBuild high = occupy("A");
        Rig.awaitSealed(stage, 1);
        hosts.connect("B");
        Rig.awaitLog(stage, "Not moved to B: A ws block inside of the stage is open.");
        ends(high, "A");
        Rig.awaitLog(stage, "Resumed on A");
        Rig.awaitCounting(stage);
        stage.doStop();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(stage));
        assertThat(Rig.log(stage), not(containsString("Moved from")));
    }

    @Test
    @Tag("slow")
    void aNestedStageStaysWhereItIs() throws Exception {
        WorkflowRun stage = begin(Rig.nested(Rig.endless(), "echo 'after'"));
        FreeStyleBuild high = occupy("A");
        Rig.awaitSealed(stage, 1);
        hosts.connect("B");
        assertThat(move("B"), containsString(MoveObstacle.NESTED_FORM.sentence()));
        ends(high, "A");
        Rig.awaitLog(stage, "Resumed on A");
        Rig.awaitCounting(stage);
        Files.createFile(hosts.workspace("A", "low").resolve("enough"));
        j.assertBuildStatusSuccess(j.waitForCompletion(stage));
    }

    /** Both would restore it over itself. */
    @Test
    @Tag("slow")
    void anAgentOfTheSameFolderIsNoOtherAgent() throws Exception {
        WorkflowRun stage = begin(script(counter()));
        FreeStyleBuild high = occupy("A");
        Rig.awaitSealed(stage, 1);
        hosts.connect("twin", "A");
        await("it is refused for that")
                .atMost(LONG)
                .until(() -> move("twin").contains(MoveObstacle.SAME_FOLDER.sentence()));
        assertEquals("A", Rig.awaitState(StageState.SUSPENDED).node());
        ends(high, "A");
        Rig.awaitLog(stage, "Resumed on A");
        endsOn("A", stage);
    }

    private String move(String agent) {
        CLICommandInvoker.Result said =
                new CLICommandInvoker(j, "preemptible-move").invokeWithArgs("low", "1", "--to", agent);
        return said.stdout() + said.stderr();
    }

    /** Parts of a log. */
    private static final class StageLogs {
        static String between(String log, String before, String after) {
            assertThat(log, containsString(before));
            int from = log.indexOf(before) + before.length();
            return log.substring(from, log.indexOf(after, from));
        }
    }
}
