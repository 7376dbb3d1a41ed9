package io.jenkins.plugins.preemptible.acceptance;

import hudson.slaves.DumbSlave;
import hudson.slaves.OfflineCause;
import io.jenkins.plugins.preemptible.engine.bench.Machine;
import io.jenkins.plugins.preemptible.engine.bench.Page;
import io.jenkins.plugins.preemptible.engine.bench.Result;
import io.jenkins.plugins.preemptible.engine.bench.Row;
import io.jenkins.plugins.preemptible.engine.bench.Samples;
import io.jenkins.plugins.preemptible.engine.bench.Text;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.queue.BusyController;
import java.lang.management.ManagementFactory;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/**
 * How long an urgent item waits on a busy controller, and on an agent that has just connected; run by {@code ./preempt bench
 * --queue}, which writes the figures to performance.md.
 *
 * <p>A real agent process with a real stage that gives way. Asserts nothing: a goal that is missed is printed as missed.
 */
@WithJenkins
@Tag("bench")
class UrgentItemBenchmark extends OneAgent {

    private static final int RUNS = 10;
    private static final int CONNECTIONS = 5;
    private static final int OTHERS = Integer.getInteger("preemptible.bench.others", 5_000);
    /** From connected until the stage is preempted: it takes that long until a build has begun and does something. */
    private static final long SETTLED_MILLIS = 3_000;

    @Test
    void measure() throws Exception {
        List<Row> rows = new ArrayList<>();
        QueueTimes times = QueueTimes.listen();
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        WorkflowJob high = rig.pipeline("high", 1, "node('linux') { sh 'true' }");
        rows.add(new Row(
                "first preemption on an agent that has just connected",
                justConnected(times, low, high), Samples.of("ms", 300), 1.0));
        BusyController busy = new BusyController(j);
        busy.agents(10, 1);
        busy.fillTo(OTHERS);
        rows.add(new Row(
                "urgent item, buildable to running, while " + OTHERS + " others wait",
                whileOthersWait(times, low, high), Samples.of("ms", 500), 1.0));
        Result result = new Result(
                "urgent",
                "How long does an urgent item wait for an executor that a stage has to give away?",
                rows,
                List.of(),
                List.of("Written by `./preempt bench --queue`. On the clock, from buildable to running, with a real agent. "
                        + "Other programs on the machine: "
                        + Text.number(ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage())
                        + " wanted a processor at the end.",
                        "The agent had connected " + SETTLED_MILLIS / 1000 + " s before, the stage ran since then; each time "
                                + "a new process of the agent."));
        Text.print(result, System.out);
        String docs = System.getProperty("preemptible.bench.docs", "");
        if (!docs.isEmpty()) {
            new Page(Path.of(docs), RUNS).update(Machine.here(), List.of(result));
        }
        j.jenkins.getQueue().clear();
    }

    private Samples justConnected(QueueTimes times, WorkflowJob low, WorkflowJob high) throws Exception {
        List<Double> waited = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            DumbSlave worker = agent;
            worker.toComputer().disconnect(new OfflineCause.ByCLI("a new process")).get();
            worker.toComputer().connect(true).get();
            j.waitOnline(worker);
            long connected = System.nanoTime();
            WorkflowRun victim = Rig.start(low);
            Rig.awaitLog(victim, "count-3\n");
            Thread.sleep(Math.max(0, SETTLED_MILLIS - (System.nanoTime() - connected) / 1_000_000));
            waited.add((double) preempt(times, high));
            Rig.awaitLog(victim, "Resumed on worker");
            end(victim);
        }
        System.out.println("just connected: " + waited);
        return new Samples("ms", waited);
    }

    private Samples whileOthersWait(QueueTimes times, WorkflowJob low, WorkflowJob high) throws Exception {
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        List<Double> waited = new ArrayList<>();
        for (int i = 1; i <= RUNS; i++) {
            waited.add((double) preempt(times, high));
            Rig.awaitLog(victim, "Resumed on worker", i);
            Rig.awaitState(StageState.RUNNING);
            Rig.awaitCounting(victim);
        }
        end(victim);
        System.out.println("while others wait: " + waited);
        return new Samples("ms", waited);
    }

    private static long preempt(QueueTimes times, WorkflowJob high) throws Exception {
        WorkflowRun preemptor = Rig.start(high);
        long waited = times.waitedMillis(preemptor.getExternalizableId());
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        return waited;
    }

    private static void end(WorkflowRun victim) throws Exception {
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
    }
}
