package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.lifecycle.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.TimeSlices;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
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
    void asBefore() {
        PreemptibleConfiguration.get().setTimeSliceMinutes(0);
        PreemptibleConfiguration.get().setOwnerBy("user");
        agent.setNumExecutors(1);
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

    /** Ten owners, the first with six stages, the others with one or two each, on five executors. */
    @Test
    void tenOwnersHaveEqualSharesWithinTenPercent() throws Exception {
        PreemptibleConfiguration.get().setOwnerBy("job");
        agent.setNumExecutors(EXECUTORS);
        List<WorkflowRun> runs = new ArrayList<>();
        for (int owner = 0; owner < OWNERS; owner++) {
            int stages = owner == 0 ? 6 : 1 + owner % 2;
            WorkflowJob job = rig.pipeline("owner" + owner, 3, Rig.own(Rig.endless()));
            for (int i = 0; i < stages; i++) {
                runs.add(Rig.start(job));
            }
        }
        // Who comes later has no claim to what the others have had before.
        await("every owner has begun").atMost(Duration.ofMinutes(5)).until(() -> {
            Set<String> begun = new HashSet<>();
            for (WorkflowRun run : runs) {
                TimeSlices.set(run.getExternalizableId(), SLICE_MILLIS);
                if (Rig.log(run).contains("count-1\n")) {
                    begun.add(run.getParent().getName());
                }
            }
            return begun.size() == OWNERS;
        });
        Map<String, Long> had = new TreeMap<>();
        Map<String, Long> since = new HashMap<>();
        long begun = System.nanoTime();
        long measured = 0;
        while (System.nanoTime() - begun < SIX_MINUTES.toNanos()) {
            long now = System.nanoTime();
            for (StageRecord stage : StageRegistry.get().all()) {
                if (stage.timeSliceMillis() == 0) {
                    TimeSlices.set(stage.runId(), SLICE_MILLIS);
                }
                if (stage.state().name().equals("RUNNING")) {
                    had.merge(stage.job(), now - since.getOrDefault("", now), Long::sum);
                }
            }
            since.put("", now);
            measured = now - begun;
            TimeUnit.MILLISECONDS.sleep(100);
        }
        double equal = had.values().stream().mapToLong(Long::longValue).sum() / (double) OWNERS;
        StringBuilder shares = new StringBuilder();
        had.forEach((owner, nanos) -> shares.append(String.format(" %s %.3f", owner, nanos / equal)));
        System.out.println("shares of " + OWNERS + " owners after " + measured / 1_000_000_000 + " s:" + shares);
        for (WorkflowRun run : runs) {
            Rig.enough(run);
        }
        for (WorkflowRun run : runs) {
            j.assertBuildStatusSuccess(j.waitForCompletion(run));
        }
        assertEquals(OWNERS, had.size());
        had.forEach((owner, nanos) ->
                assertTrue(Math.abs(nanos / equal - 1) <= 0.1, owner + " had " + nanos / equal + " of its share:" + shares));
    }
}
