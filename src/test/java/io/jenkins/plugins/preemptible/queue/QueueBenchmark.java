package io.jenkins.plugins.preemptible.queue;

import hudson.ExtensionList;
import hudson.ExtensionPoint;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.queue.QueueListener;
import hudson.model.queue.QueueTaskDispatcher;
import io.jenkins.plugins.preemptible.engine.bench.Row;
import io.jenkins.plugins.preemptible.engine.bench.Samples;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadInfo;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
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
    private static final int REQUESTS = 5;
    private static final String OURS = "io.jenkins.plugins.preemptible.";

    private static final List<String> NOTES = List.of(
            "Times are processor time of the thread that does it, unless *on the clock* is said. *Waiting for a processor*: "
                    + "other programs had both; a part of what passed on the clock. *First*: the evaluation in which nothing "
                    + "is known of the items yet.",
            "Real Jenkins with Priority Sorter and Throttle Concurrent Builds; agents and stages without processes; "
                    + BLOCKS
                    + " of the items are `node` blocks of Pipelines, the others builds of 50 jobs of 50 users. An evaluation "
                    + "is snapshot, decision, effects and reasons; none of the stages may give way, so nothing is "
                    + "suspended. Growth: allowed is n log n from the time of " + ITEMS[0] + " items.",
            "*Without the plugin*: turns in which its extensions are out of Jenkins' lists. One agent is idle and another "
                    + "plugin keeps everybody off it, so that all items that fit are asked about.");

    private final ThreadMXBean threads = ManagementFactory.getThreadMXBean();
    private final List<Row> rows = new ArrayList<>();
    private final BenchReport report = new BenchReport(
            "queue",
            "What does a busy controller notice, with " + AGENTS + " agents, " + STAGES + " running and " + STAGES
                    + " suspended stages?",
            RUNS);
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
                heap(items);
            }
            if (items == 3_000 || items == 10_000) {
                storm(items);
            }
            System.out.println("through with " + items);
            report.tell(rows, NOTES);
        }
    }

    private interface Work {
        void run() throws Exception;
    }

    /** What a piece of work took, in milliseconds: of a processor, on the clock, and waiting for a processor that others had. */
    private record Took(double cpu, double clock, double waited) {
        static Samples of(List<Took> all, ToDoubleFunction<Took> which) {
            return new Samples(
                    "ms", all.stream().map(one -> which.applyAsDouble(one)).toList());
        }
    }

    private Took took(Work work) throws Exception {
        long cpu = threads.getCurrentThreadCpuTime();
        long waited = waitedNanos();
        long begun = System.nanoTime();
        work.run();
        return new Took(
                (threads.getCurrentThreadCpuTime() - cpu) / 1e6,
                (System.nanoTime() - begun) / 1e6,
                (waitedNanos() - waited) / 1e6);
    }

    /** How long this thread was ready to run and did not; Linux tells it as the second number. */
    private static long waitedNanos() throws IOException {
        return Long.parseLong(
                Files.readString(Path.of("/proc/thread-self/schedstat")).split(" ")[1]);
    }

    private void evaluation(int items, List<Samples> before) throws Exception {
        Preemption.forget();
        Took first = took(Preemption::look);
        List<Took> all = new ArrayList<>();
        for (int i = -WARM_UP; i < RUNS; i++) {
            Took took = took(Preemption::look);
            if (i >= 0) {
                all.add(took);
            }
        }
        String what = "evaluation, " + items + " items";
        Samples now = Took.of(all, Took::cpu);
        before.add(now);
        boolean goal = items == 10_000;
        rows.add(new Row(
                what + ", on the clock",
                Took.of(all, Took::clock),
                goal ? Samples.of("ms", 100) : null,
                goal ? 1.0 : null));
        rows.add(new Row("– waiting for a processor", Took.of(all, Took::waited), null, null));
        rows.add(new Row("– the first one", Samples.of("ms", first.clock), null, null));
        if (before.size() > 1) {
            double allowed = before.get(0).median() * nLogN(items) / nLogN(ITEMS[0]);
            rows.add(new Row(what + ", growth", now, Samples.of("ms", allowed), 1.0));
        } else {
            rows.add(new Row(what, now, null, null));
        }
    }

    private static double nLogN(double n) {
        return n * Math.log(n);
    }

    private void maintenance(int items) throws Exception {
        QueueTaskDispatcher closed = BusyController.keepEverybodyOff("idle");
        Node idle = busy.idleAgent("idle", "l0 l1 l2 l3");
        List<Double> with = new ArrayList<>();
        List<Double> without = new ArrayList<>();
        for (int i = -WARM_UP; i < 2 * RUNS; i++) {
            double plain;
            try (Absent<?> dispatchers = new Absent<>(QueueTaskDispatcher.class);
                    Absent<?> listeners = new Absent<>(QueueListener.class);
                    Absent<?> authenticators = new Absent<>(QueueItemAuthenticatorProvider.class)) {
                plain = took(Queue.getInstance()::maintain).cpu;
            }
            double ours = took(Queue.getInstance()::maintain).cpu;
            if (i >= 0) {
                without.add(plain);
                with.add(ours);
            }
        }
        rows.add(new Row(
                "Queue.maintain, " + items + " items, to without the plugin",
                new Samples("ms", with),
                new Samples("ms", without),
                1.05));
        j.jenkins.removeNode(idle);
        QueueTaskDispatcher.all().remove(closed);
    }

    /** Our extensions of one kind, out of Jenkins' list until it is closed. */
    private static final class Absent<T extends ExtensionPoint> implements AutoCloseable {
        private final ExtensionList<T> list;
        private final List<T> taken;

        Absent(Class<T> kind) {
            list = ExtensionList.lookup(kind);
            Predicate<T> ours =
                    one -> one.getClass().getName().startsWith(OURS) && !(one instanceof BusyController.Closed);
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
            List<Double> clock = new ArrayList<>();
            int size = 0;
            for (int i = 0; i < REQUESTS; i++) {
                long begun = System.nanoTime();
                size = client.goTo("preemptible/api/json" + query, "application/json")
                        .getWebResponse()
                        .getContentAsString()
                        .length();
                clock.add((System.nanoTime() - begun) / 1e6);
            }
            rows.add(new Row("GET preemptible/api/json" + query, Samples.of("kB", size / 1e3), null, null));
            rows.add(new Row("– on the clock", new Samples("ms", clock), null, null));
        }
    }

    /**
     * What one evaluation uses for a moment. What is kept from one to the next is not measured: it is lost in what other threads
     * of Jenkins take and give back meanwhile.
     */
    private void heap(int items) throws Exception {
        Preemption.look();
        com.sun.management.ThreadMXBean allocations = (com.sun.management.ThreadMXBean) threads;
        long before = allocations.getCurrentThreadAllocatedBytes();
        Preemption.look();
        long allocated = allocations.getCurrentThreadAllocatedBytes() - before;
        rows.add(new Row(
                "heap used by one evaluation for a moment, " + items + " items",
                Samples.of("MB", allocated / 1e6),
                null,
                null));
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
                Samples.of("%", 5),
                1.0));
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
