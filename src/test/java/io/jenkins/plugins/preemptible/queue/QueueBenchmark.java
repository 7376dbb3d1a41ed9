package io.jenkins.plugins.preemptible.queue;

import hudson.ExtensionList;
import hudson.ExtensionPoint;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.queue.CauseOfBlockage;
import hudson.model.queue.QueueListener;
import hudson.model.queue.QueueTaskDispatcher;
import io.jenkins.plugins.preemptible.engine.bench.Machine;
import io.jenkins.plugins.preemptible.engine.bench.Page;
import io.jenkins.plugins.preemptible.engine.bench.Result;
import io.jenkins.plugins.preemptible.engine.bench.Row;
import io.jenkins.plugins.preemptible.engine.bench.Samples;
import io.jenkins.plugins.preemptible.engine.bench.Text;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import jenkins.security.QueueItemAuthenticatorProvider;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/**
 * What a busy controller notices of the plugin; run by {@code ./preempt bench --queue}, which writes the figures to
 * performance.md.
 *
 * <ol>
 *   <li>Asserts nothing: a goal that is missed is printed as missed.
 *   <li>Times are processor time of the thread that evaluates or maintains, so that other programs on the machine count
 *       less; what passed on the clock stands beside the largest one.
 *   <li>"Without the plugin" are turns in which its extensions are out of Jenkins' lists.
 * </ol>
 */
@WithJenkins
@Tag("bench")
class QueueBenchmark {

    private static final int AGENTS = 100;
    private static final int EXECUTORS = 2;
    private static final int STAGES = 200;
    private static final int[] ITEMS = {1_000, 3_000, 10_000, 30_000};
    private static final int BLOCKS = Integer.getInteger("preemptible.bench.blocks", 200);
    private static final int WARM_UP = 10;
    private static final int RUNS = 15;
    private static final int ARRIVALS_A_SECOND = 100;
    private static final int STORM_SECONDS = 20;
    private static final String OURS = "io.jenkins.plugins.preemptible.";

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final List<Row> rows = new ArrayList<>();
    private JenkinsRule j;
    private BusyController busy;

    @Test
    void measure(JenkinsRule rule) throws Exception {
        j = rule;
        busy = new BusyController(j);
        busy.agents(AGENTS, EXECUTORS);
        busy.stages(STAGES, STAGES, AGENTS);
        busy.blocks(BLOCKS);
        List<Samples> evaluations = new ArrayList<>();
        for (int items : ITEMS) {
            if (items > Integer.getInteger("preemptible.bench.most", Integer.MAX_VALUE)) {
                break;
            }
            busy.fillTo(items);
            evaluation(items, evaluations);
            if (items == 3_000 || items == 10_000) {
                maintenance(items);
            }
            if (items == 10_000) {
                state();
            }
            if (items == 3_000 || items == 10_000) {
                storm(items);
            }
            System.out.println("through with " + items);
            report();
        }
    }

    private void report() throws Exception {
        Result result = new Result(
                "queue",
                "What does a busy controller notice, with " + AGENTS + " agents, " + STAGES + " running and " + STAGES
                        + " suspended stages?",
                rows,
                List.of(),
                List.of(
                        "Written by `./preempt bench --queue`. Times are processor time of the thread that does it, unless "
                                + "*on the clock* is said. Other programs on the machine: "
                                + Text.number(ManagementFactory.getOperatingSystemMXBean().getSystemLoadAverage())
                                + " wanted a processor at the end.",
                        "Real Jenkins with Priority Sorter and Throttle Concurrent Builds; agents and stages without "
                                + "processes; " + BLOCKS + " of the items are `node` blocks of Pipelines, the others builds "
                                + "of 50 jobs of 50 users. An evaluation is snapshot, decision, effects and reasons; none of "
                                + "the stages may give way, so nothing is suspended.",
                        "*Without the plugin*: turns in which its extensions are out of Jenkins' lists. One agent is idle and "
                                + "another plugin keeps everybody off it, so that all items that fit are asked about.",
                        "*First*: the evaluation in which nothing is known of the items yet."));
        Text.print(result, System.out);
        String docs = System.getProperty("preemptible.bench.docs", "");
        if (!docs.isEmpty()) {
            new Page(Path.of(docs), RUNS).update(Machine.here(), List.of(result));
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    private double cpuMillis(Work work) throws Exception {
        long before = threads.getCurrentThreadCpuTime();
        work.run();
        return (threads.getCurrentThreadCpuTime() - before) / 1e6;
    }

    private void evaluation(int items, List<Samples> before) throws Exception {
        Preemption.forget();
        double first = cpuMillis(Preemption::look);
        List<Double> cpu = new ArrayList<>();
        List<Double> clock = new ArrayList<>();
        for (int i = -WARM_UP; i < RUNS; i++) {
            long begun = System.nanoTime();
            double took = cpuMillis(Preemption::look);
            if (i >= 0) {
                cpu.add(took);
                clock.add((System.nanoTime() - begun) / 1e6);
            }
        }
        Samples now = new Samples("ms", cpu);
        before.add(now);
        int place = before.size() - 1;
        if (items == 10_000) {
            rows.add(new Row("evaluation, " + items + " items", now, Samples.of("ms", 100), 1.0));
            rows.add(new Row(
                    "evaluation, " + items + " items, on the clock", new Samples("ms", clock), Samples.of("ms", 100), null));
            rows.add(new Row("first evaluation, " + items + " items", Samples.of("ms", first), null, null));
        }
        if (place > 0) {
            double allowed = before.get(0).median() * nLogN(items) / nLogN(ITEMS[0]);
            rows.add(new Row("growth: evaluation, " + items + " items", now, Samples.of("ms", allowed), 1.0));
        } else {
            rows.add(new Row("evaluation, " + items + " items", now, null, null));
        }
    }

    private static double nLogN(double n) {
        return n * Math.log(n);
    }

    /** Keeps everybody off one agent. */
    private static final class Closed extends QueueTaskDispatcher {
        @Override
        public CauseOfBlockage canTake(Node node, Queue.BuildableItem item) {
            return node.getNodeName().equals("idle") ? new CauseOfBlockage() {
                @Override
                public String getShortDescription() {
                    return "closed";
                }
            } : null;
        }
    }

    private void maintenance(int items) throws Exception {
        Closed closed = new Closed();
        QueueTaskDispatcher.all().add(closed);
        Node idle = busy.idleAgent("idle", "l0 l1 l2 l3");
        List<Double> with = new ArrayList<>();
        List<Double> without = new ArrayList<>();
        for (int i = -WARM_UP; i < 2 * RUNS; i++) {
            double plain;
            try (Absent<?> dispatchers = new Absent<>(QueueTaskDispatcher.class);
                    Absent<?> listeners = new Absent<>(QueueListener.class);
                    Absent<?> authenticators = new Absent<>(QueueItemAuthenticatorProvider.class)) {
                plain = cpuMillis(Queue.getInstance()::maintain);
            }
            double ours = cpuMillis(Queue.getInstance()::maintain);
            if (i >= 0) {
                without.add(plain);
                with.add(ours);
            }
        }
        rows.add(new Row(
                "Queue.maintain, " + items + " items, to without the plugin", new Samples("ms", with),
                new Samples("ms", without), 1.05));
        j.jenkins.removeNode(idle);
        QueueTaskDispatcher.all().remove(closed);
    }

    /** Our extensions of one kind, out of Jenkins' list until it is closed. */
    private static final class Absent<T extends ExtensionPoint> implements AutoCloseable {
        private final ExtensionList<T> list;
        private final List<T> taken;

        Absent(Class<T> kind) {
            list = ExtensionList.lookup(kind);
            Predicate<T> ours = one -> one.getClass().getName().startsWith(OURS) && !(one instanceof Closed);
            taken = list.stream().filter(ours).toList();
            list.removeAll(taken);
        }

        @Override
        public void close() {
            taken.forEach(one -> list.add(0, one));
        }
    }

    private void state() throws Exception {
        JenkinsRule.WebClient client = j.createWebClient();
        client.goTo("preemptible/api/json?count=0", "application/json");
        for (String query : new String[] {"", "?count=2000"}) {
            long begun = System.nanoTime();
            String answer = client
                    .goTo("preemptible/api/json" + query, "application/json")
                    .getWebResponse()
                    .getContentAsString();
            rows.add(new Row(
                    "GET preemptible/api/json" + query, Samples.of("kB", answer.length() / 1e3), null, null));
            rows.add(new Row(
                    "GET preemptible/api/json" + query + ", on the clock",
                    Samples.of("ms", (System.nanoTime() - begun) / 1e6), null, null));
        }
    }

    private void storm(int items) throws Exception {
        long before = evaluatingNanos();
        long begun = System.nanoTime();
        for (int i = 0; i < STORM_SECONDS * ARRIVALS_A_SECOND; i++) {
            busy.arrive();
            long due = begun + (i + 1) * 1_000_000_000L / ARRIVALS_A_SECOND;
            Thread.sleep(Math.max(0, (due - System.nanoTime()) / 1_000_000));
        }
        double seconds = (System.nanoTime() - begun) / 1e9;
        rows.add(new Row(
                "share of one processor while " + ARRIVALS_A_SECOND + " items a second arrive at " + items,
                Samples.of("%", (evaluatingNanos() - before) / 1e7 / seconds),
                Samples.of("%", 5), 1.0));
    }

    private long evaluatingNanos() {
        long nanos = 0;
        for (ThreadInfo thread : threads.dumpAllThreads(false, false)) {
            if (thread.getThreadName().contains("looks at the queue")) {
                nanos += Math.max(0, threads.getThreadCpuTime(thread.getThreadId()));
            }
        }
        return nanos;
    }
}
