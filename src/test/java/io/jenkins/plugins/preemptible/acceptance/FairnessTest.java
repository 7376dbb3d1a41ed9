package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Cause;
import hudson.model.CauseAction;
import hudson.model.Computer;
import hudson.model.Queue;
import hudson.slaves.OfflineCause;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.TimeSlices;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Executor time among equals, over minutes. */
@WithJenkins
@Tag("soak")
class FairnessTest extends OneAgent {

    private static final Duration SIX_MINUTES = Duration.ofMinutes(6);
    private static final long SLICE_MILLIS = 2_000;
    private static final int OWNERS = 10;
    private static final int EXECUTORS = 5;

    @AfterEach
    void asBefore() throws IOException {
        PreemptibleConfiguration.get().setTimeSliceMinutes(0);
        executors(1);
    }

    // The agent's computer hears of it only when all nodes are set.
    private static void executors(int count) throws IOException {
        agent.setNumExecutors(count);
        j.jenkins.setNodes(j.jenkins.getNodes());
        assertEquals(count, agent.toComputer().countExecutors());
    }

    /** The administrator's own setting: a slice of one minute, two stages, one executor. */
    @Test
    void twoStagesShareOneExecutorForSixMinutes() throws Exception {
        PreemptibleConfiguration.get().setTimeSliceMinutes(1);
        WorkflowRun one = Rig.start(rig.pipeline("first", 3, Rig.own(Rig.endless())));
        Rig.awaitLog(one, "count-3\n");
        WorkflowRun two = Rig.start(rig.pipeline("second", 3, Rig.own(Rig.endless())));
        long end = System.nanoTime() + SIX_MINUTES.toNanos();
        int before = 0;
        while (System.nanoTime() < end) {
            TimeUnit.SECONDS.sleep(10);
            int now = Rig.counts(one).size() + Rig.counts(two).size();
            assertTrue(now > before, "one of them runs at any time");
            before = now;
        }
        int first = Rig.counts(one).size();
        int second = Rig.counts(two).size();
        System.out.println("counts after 6 minutes: " + first + " and " + second);
        assertTrue(first > 600 && second > 600, first + " and " + second);
        // Where one of them is suspended, it ends when it has its turn.
        Rig.enough(one);
        Rig.enough(two);
        j.assertBuildStatusSuccess(j.waitForCompletion(one));
        j.assertBuildStatusSuccess(j.waitForCompletion(two));
        assertThat(Rig.log(one), containsString(Reason.TIME_SLICE_USED_UP.sentence()));
        assertThat(Rig.log(two), containsString(Reason.TIME_SLICE_USED_UP.sentence()));
        Rig.countedAtLeast(one, first);
        Rig.countedAtLeast(two, second);
        Rig.assertNothingLeft(agent, one.getParent());
        Rig.assertNothingLeft(agent, two.getParent());
    }

    /**
     * Ten users, the first with six stages, the others with one or two each, of both forms, on five executors. All wait
     * before the first executor is there, so that nobody begins with a debt or a credit, and shares are those of the
     * whole time.
     */
    @Test
    void tenUsersHaveEqualSharesWithinTenPercent() throws Exception {
        executors(EXECUTORS);
        Computer computer = agent.toComputer();
        computer.setTemporaryOfflineCause(new OfflineCause.ByCLI("until all wait"));
        List<WorkflowRun> runs = new ArrayList<>();
        for (int owner = 0; owner < OWNERS; owner++) {
            int stages = owner == 0 ? 6 : 1 + owner % 2;
            for (int i = 0; i < stages; i++) {
                String script =
                        runs.size() % 2 == 0 ? Rig.own(Rig.endless()) : Rig.nested(Rig.endless(), "echo 'after'");
                WorkflowJob job = rig.pipeline("job" + runs.size(), 3, script);
                Cause cause = new Cause.UserIdCause("user" + owner);
                runs.add(job.scheduleBuild2(0, new CauseAction(cause)).waitForStart());
            }
        }
        await("all wait")
                .atMost(Rig.PATIENCE)
                .until(() -> Queue.getInstance().getBuildableItems().size() == runs.size());
        computer.setTemporaryOfflineCause(null);
        long begun = System.currentTimeMillis();
        Map<String, StageRecord> last = new HashMap<>();
        Map<String, Integer> seen = new TreeMap<>();
        while (System.currentTimeMillis() - begun < SIX_MINUTES.toMillis()) {
            seen.merge("looks", 1, Integer::sum);
            seen.merge("idle executors", computer.countIdle(), Integer::sum);
            for (StageRecord stage : StageRegistry.get().all()) {
                last.put(stage.id(), stage);
                seen.merge(stage.state().name(), 1, Integer::sum);
                if (stage.timeSliceMillis() == 0) {
                    TimeSlices.set(stage.runId(), SLICE_MILLIS);
                }
            }
            TimeUnit.MILLISECONDS.sleep(100);
        }
        long end = System.currentTimeMillis();
        Map<String, Long> had = new TreeMap<>();
        last.values().forEach(stage -> had.merge(stage.owner(), stage.executorMillis(end), Long::sum));
        System.out.println("seen: " + seen);
        System.out.println("used, as the decision sees it: "
                + new TreeMap<>(LastDecision.get().snapshot().usedMillis()));
        double equal = had.values().stream().mapToLong(Long::longValue).sum() / (double) OWNERS;
        StringBuilder shares = new StringBuilder();
        had.forEach((owner, millis) -> shares.append(String.format(" %s %.3f", owner, millis / equal)));
        System.out.println("shares of " + OWNERS + " owners after " + (end - begun) / 1_000 + " s, " + equal
                + " ms each:" + shares);
        for (WorkflowRun run : runs) {
            Rig.enough(run);
        }
        for (WorkflowRun run : runs) {
            j.assertBuildStatusSuccess(j.waitForCompletion(run));
        }
        assertEquals(OWNERS, had.size());
        had.forEach((owner, millis) -> assertTrue(
                Math.abs(millis / equal - 1) <= 0.1, owner + " had " + millis / equal + " of its share:" + shares));
    }
}
