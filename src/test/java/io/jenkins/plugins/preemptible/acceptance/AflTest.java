package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.startsWith;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Two instances of AFL++ give way twice and find themselves where they were. */
@WithJenkins
@Tag("soak")
class AflTest extends OneAgent {

    private static final Pattern PROGRESS =
            Pattern.compile("^progress one=(\\d+) two=(\\d+) alive=(\\d+)$", Pattern.MULTILINE);
    private static final Pattern END = Pattern.compile("^at the end (\\w+)=(\\d+) of (\\d+)$", Pattern.MULTILINE);
    /** As in fuzz.sh. */
    private static final long EXECUTIONS = 2_500;

    private static final long START_LIMIT_MILLIS = 5_000;

    private QueueTimes times;

    @Override
    void assumptions() throws Exception {
        Rig.assumeInstalled("afl-fuzz", "afl++");
        Rig.assumeInstalled("afl-cc", "afl++");
        super.assumptions();
        times = QueueTimes.listen();
    }

    @Test
    void fuzzersOfOwnExecutorStageGiveWayTwice() throws Exception {
        WorkflowJob fuzz = rig.pipeline("fuzz", 5, "preemptible(label: 'linux') {" + fuzzing() + "}");
        twice(fuzz);
    }

    @Test
    void fuzzersOfNestedStageGiveWayTwice() throws Exception {
        WorkflowJob fuzz = rig.pipeline(
                "fuzz",
                5,
                "node('linux') { def before = pwd(); preemptible {" + fuzzing() + "}\n"
                        + "sh 'echo after in $PWD on $EXECUTOR_NUMBER; test -s out/one/fuzzer_stats'\n"
                        + "echo(pwd() == before && env.WORKSPACE == before ? 'same workspace' : 'another workspace') }");
        WorkflowRun run = twice(fuzz);
        assertThat(Rig.log(run), containsString("on 0"));
        assertThat(Rig.log(run), containsString("same workspace"));
    }

    private WorkflowRun twice(WorkflowJob fuzz) throws Exception {
        WorkflowJob high = rig.pipeline(
                "high",
                1,
                "node('linux') { sh 'echo preemptor runs; " + Rig.untilEnough() + "; echo preemptor ends' }");
        WorkflowRun victim = Rig.start(fuzz);
        awaitProgress(victim, new long[] {0, 0});
        for (int cycle = 1; cycle <= 2; cycle++) {
            WorkflowRun preemptor = Rig.start(high);
            long waited = times.waitedMillis(preemptor.getExternalizableId());
            System.out.println("buildable-to-running ms: " + waited);
            assertTrue(waited < START_LIMIT_MILLIS, "the preemptor waited " + waited + " ms");
            assertEquals("high", holder());

            StageRecord stage = Rig.awaitState(StageState.SUSPENDED);
            String target = stage.workspace() + "/target";
            Rig.awaitLog(preemptor, "preemptor runs\n");
            Rig.awaitSealed(victim, cycle);
            long[] left = {execs(stage, "one"), execs(stage, "two")};
            assertFalse(victim.getArtifacts().isEmpty(), "the image is an artifact while the stage is suspended");
            assertThat(victim.getArtifacts().get(0).relativePath, startsWith("preemptible/"));
            for (int look = 1; look <= 10; look++) {
                assertEquals(List.of(), HostProcesses.mentioning(target), "processes of AFL while the preemptor runs");
                Thread.sleep(100);
            }
            assertTrue(preemptor.isBuilding());
            agent.getWorkspaceFor(high).child("enough").touch(System.currentTimeMillis());
            assertEquals(left[0], execs(stage, "one"), "executions while suspended");
            assertEquals(left[1], execs(stage, "two"), "executions while suspended");
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));

            Rig.awaitLog(victim, "Resumed on worker", cycle);
            awaitProgress(victim, left);
        }
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        assertThat(Rig.log(victim), containsString("exit codes 0 0"));
        assertCountedOn(victim);
        nothingLeft(fuzz);
        return victim;
    }

    void nothingLeft(WorkflowJob job) {
        Rig.assertNothingLeft(agent, job);
    }

    /** Fuzzes until the limit of executions, and says once a second how far it is. */
    private static String fuzzing() throws IOException {
        String script = resource("fuzz.sh");
        return "writeFile file: 'target.c', text: '''" + resource("target.c").replace("\\", "\\\\") + "'''\n"
                + "writeFile file: 'fuzz.sh', text: '''" + script.replace("\\", "\\\\") + "'''\n"
                + "sh 'sh ./fuzz.sh'\n";
    }

    private static String resource(String name) throws IOException {
        try (var in = AflTest.class.getResourceAsStream(name)) {
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        }
    }

    /** Whose block the agent's only executor runs now. */
    private String holder() {
        var executable = agent.toComputer().getExecutors().get(0).getCurrentExecutable();
        return executable == null
                ? "nobody"
                : executable.getParent().getOwnerTask().getName();
    }

    /** How often the instance has run its target, as the target itself counts. */
    private static long execs(StageRecord stage, String instance) throws IOException {
        return Files.size(Path.of(stage.workspace(), instance + ".count"));
    }

    /** Waits until both instances live and have gone further than that. */
    private static void awaitProgress(WorkflowRun run, long[] beyond) {
        await("both instances beyond " + beyond[0] + " and " + beyond[1])
                .atMost(Duration.ofMinutes(3))
                .pollInterval(Duration.ofMillis(200))
                .until(() -> progress(run).stream().anyMatch(p -> p[0] > beyond[0] && p[1] > beyond[1] && p[2] == 2));
    }

    private static List<long[]> progress(WorkflowRun run) throws IOException {
        List<long[]> lines = new ArrayList<>();
        Matcher line = PROGRESS.matcher(Rig.log(run));
        while (line.find()) {
            lines.add(new long[] {
                Long.parseLong(line.group(1)), Long.parseLong(line.group(2)), Long.parseLong(line.group(3))
            });
        }
        return lines;
    }

    /** A fuzzer that was started anew would have counted fewer executions than its target. */
    private static void assertCountedOn(WorkflowRun run) throws IOException {
        Matcher end = END.matcher(Rig.log(run));
        int instances = 0;
        while (end.find()) {
            instances++;
            long own = Long.parseLong(end.group(2));
            long target = Long.parseLong(end.group(3));
            assertTrue(own >= EXECUTIONS, end.group());
            // A run for the target's map size and the like is not counted by the fuzzer.
            assertTrue(Math.abs(target - own) <= 10, end.group());
        }
        assertEquals(2, instances);
    }
}
