package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.matrix.AxisList;
import hudson.matrix.LabelAxis;
import hudson.matrix.MatrixBuild;
import hudson.matrix.MatrixConfiguration;
import hudson.matrix.MatrixProject;
import hudson.matrix.MatrixRun;
import hudson.matrix.TextAxis;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.Result;
import hudson.model.queue.CauseOfBlockage;
import hudson.model.queue.QueueTaskDispatcher;
import hudson.tasks.Shell;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.IntStream;
import jenkins.advancedqueue.priority.strategy.PriorityJobProperty;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.TestExtension;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Parallel branches, matrix jobs, Declarative's matrix, and tasks that need no executor of their own. */
@WithJenkins
@Tag("acceptance")
class ParallelWorkTest extends BesideOtherWork {

    private static volatile Predicate<Queue.Task> vetoed = task -> false;

    /** Keeps off what a test wants to wait. */
    @TestExtension
    public static final class Veto extends QueueTaskDispatcher {
        @Override
        public CauseOfBlockage canTake(Node node, Queue.BuildableItem item) {
            return vetoed.test(item.task) ? new NotYet() : null;
        }
    }

    private static final class NotYet extends CauseOfBlockage {
        @Override
        public String getShortDescription() {
            return "not yet";
        }
    }

    @AfterEach
    void noVeto() {
        vetoed = task -> false;
    }

    private static void lift() {
        vetoed = task -> false;
        Queue.getInstance().scheduleMaintenance();
    }

    /** Two configurations, on the agent as their parent; each runs until it is told. */
    private MatrixProject matrix(int priority) throws Exception {
        MatrixProject job = j.createProject(MatrixProject.class, "matrix");
        job.addProperty(new PriorityJobProperty(true, priority));
        job.setAssignedLabel(Label.get(Rig.LABEL));
        job.setAxes(new AxisList(new TextAxis("number", "one", "two"), new LabelAxis("on", List.of(Rig.LABEL))));
        job.getBuildersList().add(new Shell(Rig.untilEnough()));
        return job;
    }

    private static MatrixBuild begun(MatrixProject job) {
        job.scheduleBuild2(0);
        return await("the matrix job has begun")
                .atMost(Rig.PATIENCE)
                .until(
                        () -> job.getLastBuild() != null
                                        && Queue.getInstance()
                                                        .getBuildableItems()
                                                        .size()
                                                == 2
                                ? job.getLastBuild()
                                : null,
                        build -> build != null);
    }

    private static MatrixRun running(MatrixBuild build) {
        return await("a configuration runs")
                .atMost(Rig.PATIENCE)
                .until(
                        () -> build.getExactRuns().stream()
                                .filter(MatrixRun::isBuilding)
                                .findFirst()
                                .orElse(null),
                        run -> run != null);
    }

    /** Ends the one configuration that runs. */
    private void endsNext(MatrixBuild build) throws Exception {
        MatrixRun run = running(build);
        await("its workspace")
                .atMost(Rig.PATIENCE)
                .until(() -> run.getWorkspace() != null && run.getWorkspace().exists());
        assertEquals("worker", run.getBuiltOnStr());
        run.getWorkspace().child("enough").touch(System.currentTimeMillis());
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
    }

    /** The parent runs beside the stage without an executor; its configurations take the stage's in turn. */
    @Test
    void configurationsOfAMatrixJobPreemptAndTheirParentDoesNot() throws Exception {
        start(Rig.own(Rig.endless()));
        vetoed = MatrixConfiguration.class::isInstance;
        MatrixBuild build = begun(matrix(1));
        Rig.awaitAnotherLook();
        assertTrue(build.isBuilding());
        assertThat(Rig.log(victim), not(containsString("Suspending this stage")));
        lift();
        endsNext(build);
        assertEquals(1, inState(StageState.SUSPENDED).size(), "the next one has its turn before the stage");
        endsNext(build);
        j.assertBuildStatusSuccess(j.waitForCompletion(build));
        assertEquals(2, build.getExactRuns().size());
        assertThat(Rig.log(victim), containsString("Suspending this stage for matrix » "));
        Rig.awaitLog(victim, "Resumed on worker");
        endsWell();
        assertSuspensions(1, victim);
    }

    @Test
    void aMatrixJobOfLowerPriorityPreemptsNobody() throws Exception {
        low = rig.pipeline("low", 2, Rig.own(Rig.endless()));
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        MatrixBuild build = begun(matrix(4));
        Rig.awaitAnotherLook();
        for (Queue.Item item : Queue.getInstance().getBuildableItems()) {
            assertEquals(
                    Reason.NO_LOWER_PRIORITY,
                    LastDecision.get().of(String.valueOf(item.getId())).reason());
        }
        assertTrue(build.isBuilding());
        endsWell();
        assertSuspensions(0, victim);
        endsNext(build);
        endsNext(build);
        j.assertBuildStatusSuccess(j.waitForCompletion(build));
    }

    /** Neither a busy executor nor one that is kept for a preemptor holds them up, and they take none. */
    @Test
    void whatNeedsNoExecutorStartsBesideAFullAndReservedAgent() throws Exception {
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(1_000_000);
        start(Rig.own(Rig.endless()));
        j.assertBuildStatusSuccess(j.waitForCompletion(Rig.start(rig.pipeline("light", 1, "echo 'no node'"))));
        Rig.awaitAnotherLook();
        assertThat(Rig.log(victim), not(containsString("Suspending this stage")));

        // Made ready while the preemptor's reservation is there and not yet open.
        HeldArtifacts.shut();
        FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
        high.scheduleBuild2(0);
        await("the image is being archived").atMost(Rig.PATIENCE).until(() -> HeldArtifacts.waiting() > 0);
        vetoed = task -> task == high || task instanceof MatrixConfiguration;
        HeldArtifacts.open();
        Rig.awaitState(StageState.SUSPENDED);
        await("an executor is idle")
                .atMost(Rig.PATIENCE)
                .until(() -> agent.toComputer().countIdle() == 1);

        MatrixBuild build = begunBeside(matrix(4));
        assertEquals(1, agent.toComputer().getOneOffExecutors().size());
        j.assertBuildStatusSuccess(j.waitForCompletion(Rig.start(rig.pipeline("light2", 4, "echo 'no node'"))));
        assertEquals(1, agent.toComputer().countIdle());
        Rig.awaitState(StageState.SUSPENDED);
        vetoed = MatrixConfiguration.class::isInstance;
        Queue.getInstance().scheduleMaintenance();
        await("high has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        ends(high.getLastBuild());
        Rig.awaitLog(victim, "Resumed on worker");
        build.getExecutor().interrupt();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(build));
        endsWell();
        assertSuspensions(1, victim);
    }

    private static MatrixBuild begunBeside(MatrixProject job) {
        job.scheduleBuild2(0);
        return await("the matrix job has begun")
                .atMost(Rig.PATIENCE)
                .until(job::getLastBuild, build -> build != null && build.isBuilding());
    }

    /** Counts in the console under its own name until it is told to end. */
    private static String branch(String name) {
        return "preemptible(label: 'linux') { sh '''set +x\nrm -f enough; i=0; while [ ! -e enough ]; do"
                + " i=$((i+1)); echo " + name + "-$i; sleep 0.1; done''' }";
    }

    private static List<Integer> counts(WorkflowRun run, String branch) throws Exception {
        List<Integer> seen = new ArrayList<>();
        Matcher lines =
                Pattern.compile("^" + branch + "-(\\d+)$", Pattern.MULTILINE).matcher(Rig.log(run));
        while (lines.find()) {
            seen.add(Integer.parseInt(lines.group(1)));
        }
        return seen;
    }

    private static void assertWhole(WorkflowRun run, String branch, int least) throws Exception {
        List<Integer> seen = counts(run, branch);
        assertTrue(seen.size() >= least, () -> "only " + seen.size() + " lines of " + branch);
        assertEquals(IntStream.rangeClosed(1, seen.size()).boxed().toList(), seen);
    }

    private static void touchIn(StageRecord stage, String name) throws Exception {
        Files.createFile(Path.of(stage.workspace()).resolve(name));
    }

    private static List<StageRecord> inState(StageState state) {
        return StageRegistry.get().all().stream()
                .filter(stage -> stage.state() == state)
                .toList();
    }

    private void startBranches(String last) throws Exception {
        executors(2);
        low = rig.pipeline("low", 5, "parallel(a: { " + branch("a") + " }, b: { " + branch("b") + " }" + last + ")");
        victim = Rig.start(low);
        Rig.awaitLog(victim, "a-3\n");
        Rig.awaitLog(victim, "b-3\n");
    }

    /** Two stages and a plain node block of one build: one stage gives way, and all come to their end. */
    @Test
    void onlyOneOfTwoParallelStagesGivesWay() throws Exception {
        startBranches(", c: { node('linux') { sh 'echo from-c' } }");
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitState(StageState.SUSPENDED);
        Rig.awaitAnotherLook();
        assertEquals(1, inState(StageState.SUSPENDED).size());
        assertEquals(1, inState(StageState.RUNNING).size());
        int a = counts(victim, "a").size();
        int b = counts(victim, "b").size();
        await("the other one counts on")
                .atMost(Rig.PATIENCE)
                .until(() ->
                        counts(victim, "a").size() > a + 3 ^ counts(victim, "b").size() > b + 3);
        assertThat(Rig.log(victim), not(containsString("from-c\n")));
        ends(preemptor);
        Rig.awaitLog(victim, "Resumed on worker");
        await("both run")
                .atMost(Rig.PATIENCE)
                .until(() -> inState(StageState.RUNNING).size() == 2);
        for (StageRecord stage : StageRegistry.get().all()) {
            touchIn(stage, "enough");
        }
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        assertWhole(victim, "a", 4);
        assertWhole(victim, "b", 4);
        assertThat(Rig.log(victim), containsString("from-c\n"));
        assertSuspensions(1, victim);
        Rig.assertNothingLeft(agent, low);
    }

    /** A branch elsewhere fails: the suspended one ends with it, while its preemptor keeps the executor. */
    @Test
    void aSuspendedBranchEndsAtOnceWhenAnotherOneFails() throws Exception {
        startBranches(", failFast: true, c: { node('built-in') {"
                + " sh 'while [ ! -e fail ]; do sleep 0.2; done; exit 3' } }");
        FreeStyleBuild preemptor = preempt("high");
        Rig.awaitState(StageState.SUSPENDED);
        j.jenkins.getWorkspaceFor(low).child("fail").touch(System.currentTimeMillis());
        await("the build ends").atMost(Rig.PATIENCE).until(() -> !victim.isBuilding());
        j.assertBuildStatus(Result.FAILURE, victim);
        assertThat(Rig.log(victim), containsString("script returned exit code 3"));
        assertTrue(preemptor.isBuilding(), "the preemptor has nothing to do with it");
        Rig.assertNothingLeft(agent, low);
        assertEquals(0, Queue.getInstance().getItems().length);
        ends(preemptor);
        await("both executors are idle")
                .atMost(Rig.PATIENCE)
                .until(() -> agent.toComputer().countIdle() == 2);
    }

    /** Two cells on one executor; the second one waits, and is no reason to suspend the first. */
    @Test
    void cellsOfADeclarativeMatrixGiveWayToo() throws Exception {
        low = rig.pipeline("low", 5, """
                pipeline {
                  agent none
                  stages {
                    stage('cells') {
                      matrix {
                        axes { axis { name 'CELL'; values 'x', 'y' } }
                        stages {
                          stage('work') {
                            steps {
                              preemptible(label: 'linux') {
                                sh '''set +x
                                  i=0; while [ $i -lt 25 ]; do i=$((i+1)); echo $CELL-$i; sleep 0.1; done'''
                              }
                            }
                          }
                        }
                      }
                    }
                  }
                }""");
        victim = Rig.start(low);
        await("the first cell runs")
                .atMost(Rig.PATIENCE)
                .until(() -> counts(victim, "x").size() + counts(victim, "y").size() > 2);
        FreeStyleBuild preemptor = preempt("high");
        assertThat(Rig.log(victim), containsString("Suspending this stage for high: "));
        ends(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        for (String cell : List.of("x", "y")) {
            assertEquals(IntStream.rangeClosed(1, 25).boxed().toList(), counts(victim, cell));
        }
        assertSuspensions(1, victim);
        Rig.assertNothingLeft(agent, low);
    }
}
