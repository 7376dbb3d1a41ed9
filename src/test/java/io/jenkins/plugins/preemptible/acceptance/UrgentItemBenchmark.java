package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;

import hudson.slaves.DumbSlave;
import hudson.slaves.OfflineCause;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.bench.Row;
import io.jenkins.plugins.preemptible.engine.bench.Samples;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.queue.BenchReport;
import io.jenkins.plugins.preemptible.queue.BusyController;
import io.jenkins.plugins.preemptible.view.PreemptorAction;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToLongFunction;
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
    private static final int CONNECTIONS = Integer.getInteger("preemptible.bench.connections", 3);
    private static final int OTHERS = Integer.getInteger("preemptible.bench.others", 5_000);
    /** From connected until the preemptor comes. The first ones come as soon as there is a stage to be suspended. */
    private static final int[] SETTLED_SECONDS = {0, 5, 30};

    private static final List<String> NOTES = List.of(
            "On the clock, from buildable to running, with a real agent. *Decided*: from buildable until a stage was chosen. "
                    + "*Freed*: from then until its executor was free. *Dispatched*: from then until the item ran.",
            "Each first preemption is in a new process of the agent, whose classes come from the controller as "
                    + "they do from a plugin that is not packed. The stage begins when the agent has connected; at 0 s the "
                    + "urgent item comes when the stage's first step has written a line.",
            "The memory floor is 0, so that no image has to be made first.");

    private final BenchReport report = new BenchReport(
            "urgent", "How long does an urgent item wait for an executor that a stage has to give away?", RUNS);

    /** One preemption's parts, in milliseconds. */
    private record Waited(long whole, long decided, long freed, long started) {}

    @Override
    DumbSlave agentToTest() throws Exception {
        return rig.agentInUse();
    }

    @Test
    void measure() throws Exception {
        // Else a machine whose other programs take its memory has images made before the executors are free.
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
        List<Row> rows = new ArrayList<>();
        QueueTimes times = QueueTimes.listen();
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        WorkflowJob high = rig.pipeline("high", 1, "node('linux') { sh 'true' }");
        for (int seconds : SETTLED_SECONDS) {
            add(
                    rows,
                    "first preemption on an agent, " + seconds + " s after it has connected",
                    justConnected(times, low, high, seconds),
                    300);
        }
        BusyController busy = new BusyController(j);
        busy.agents(10, 1);
        busy.fillTo(OTHERS);
        add(
                rows,
                "urgent item, buildable to running, while " + OTHERS + " others wait",
                whileOthersWait(times, low, high),
                500);
        report.tell(rows, NOTES);
        j.jenkins.getQueue().clear();
    }

    private static void add(List<Row> rows, String what, List<Waited> waited, double goalMillis) {
        System.out.println(what + ": " + waited);
        rows.add(new Row(what, samples(waited, Waited::whole), Samples.of("ms", goalMillis), 1.0));
        rows.add(new Row("– decided", samples(waited, Waited::decided), null, null));
        rows.add(new Row("– freed", samples(waited, Waited::freed), null, null));
        rows.add(new Row("– dispatched", samples(waited, Waited::started), null, null));
    }

    private static Samples samples(List<Waited> waited, ToLongFunction<Waited> part) {
        return new Samples(
                "ms", waited.stream().map(one -> (double) part.applyAsLong(one)).toList());
    }

    private List<Waited> justConnected(QueueTimes times, WorkflowJob low, WorkflowJob high, int seconds)
            throws Exception {
        List<Waited> waited = new ArrayList<>();
        for (int i = 0; i < CONNECTIONS; i++) {
            DumbSlave worker = agent;
            worker.toComputer()
                    .disconnect(new OfflineCause.ByCLI("a new process"))
                    .get();
            WorkflowRun victim = Rig.start(low);
            worker.toComputer().connect(true).get();
            j.waitOnline(worker);
            long connected = System.nanoTime();
            // A crowded machine takes long to start a process of the agent.
            await("the stage's first line")
                    .atMost(Duration.ofMinutes(5))
                    .until(() -> !Rig.counts(victim).isEmpty());
            Thread.sleep(Math.max(0, seconds * 1_000L - (System.nanoTime() - connected) / 1_000_000));
            waited.add(preempt(times, high));
            Rig.awaitLog(victim, "Resumed on worker");
            end(victim);
        }
        return waited;
    }

    private List<Waited> whileOthersWait(QueueTimes times, WorkflowJob low, WorkflowJob high) throws Exception {
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        List<Waited> waited = new ArrayList<>();
        for (int i = 1; i <= RUNS; i++) {
            waited.add(preempt(times, high));
            Rig.awaitLog(victim, "Resumed on worker", i);
            Rig.awaitState(StageState.RUNNING);
            Rig.awaitCounting(victim);
        }
        end(victim);
        return waited;
    }

    private static Waited preempt(QueueTimes times, WorkflowJob high) throws Exception {
        WorkflowRun preemptor = Rig.start(high);
        String id = preemptor.getExternalizableId();
        long whole = times.waitedMillis(id);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        PreemptorAction story = preemptor.getAction(PreemptorAction.class);
        if (story == null) {
            return new Waited(whole, 0, 0, 0);
        }
        long decided = story.getRequestedMillis() - times.buildableMillis(id);
        long freed = story.getSuspendedMillis() - story.getRequestedMillis();
        return new Waited(whole, decided, freed, whole - decided - freed);
    }

    private static void end(WorkflowRun victim) throws Exception {
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
    }
}
