package io.jenkins.plugins.preemptible.engine.demo;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * The demonstration on one host: a long stage gives way to an urgent one and is resumed where it was.
 *
 * <ol>
 *   <li>The host is checked; where something is missing, that is printed and nothing is started.
 *   <li>The long stage runs; in its mid-work the urgent one arrives; the queue does the rest.
 *   <li>The counters and the memory of the long stage are examined, and the verdict is the last line. In it the
 *       preemptor waits from its arrival until the executor is free, which is at the freeze; the seal takes its time
 *       from there on.
 * </ol>
 *
 * Everything is in a new folder that is removed at the end.
 */
public final class Demo {

    private static final int LONG_PRIORITY = 5;
    private static final int URGENT_PRIORITY = 1;
    private static final String URGENT_SECONDS = "2";
    private static final long POLL_MILLIS = 10;
    private static final long MOST_MILLIS =
            TimeLimits.of(Duration.ofSeconds(55)).toMillis();
    /** Part of the long stage's steps after which the urgent one arrives. */
    private static final int ARRIVES_AT_PERCENT = 35;

    private final PrintWriter out;
    private final Path folder;
    private int stepsAtSuspension;
    private int stepsAtResumption;

    private Demo(PrintWriter out, Path folder) {
        this.out = out;
        this.folder = folder;
    }

    /**
     * Runs it, which takes about ten seconds.
     *
     * @return true when the long stage lost nothing
     */
    public static boolean run(PrintWriter out) throws IOException, InterruptedException {
        Path folder = Files.createTempDirectory("preemptible-demo-");
        try {
            return new Demo(out, folder).run();
        } finally {
            remove(folder);
        }
    }

    private boolean run() throws IOException, InterruptedException {
        Engine engine = Engine.open(folder.resolve("home"));
        HostReport host = engine.check();
        if (!host.ok()) {
            List<HostReport.Item> missing =
                    host.items().stream().filter(item -> !item.ok()).toList();
            for (HostReport.Item item : missing) {
                out.println("missing: " + item.name() + ", " + item.detail() + " -> " + item.remedy());
            }
            return notOk("this host cannot suspend stages yet; first mend "
                    + missing.get(0).name() + ": " + missing.get(0).remedy());
        }
        DemoTimeline timeline = new DemoTimeline(out);
        EmbeddedQueue queue = new EmbeddedQueue(engine, Files.createDirectory(folder.resolve("images")), timeline);
        try {
            return showAndJudge(queue, timeline);
        } catch (EngineException e) {
            e.criuLines().forEach(line -> out.println("criu: " + line));
            return notOk(e.getMessage());
        } finally {
            queue.killAll();
        }
    }

    private boolean showAndJudge(EmbeddedQueue queue, DemoTimeline timeline) throws IOException, InterruptedException {
        CountedWork work = new CountedWork(Files.createDirectory(folder.resolve("work")));
        queue.rehearse(spec("rehearsal", List.of("sleep", "60")));
        EmbeddedQueue.Job longJob = queue.submit("long", LONG_PRIORITY, spec("long", work.longCommand()));
        EmbeddedQueue.Job urgent = null;
        while (!queue.isEmpty()) {
            if (timeline.millis() > MOST_MILLIS) {
                return notOk(
                        "it took longer than " + MOST_MILLIS / 1000 + " s; the machine may be overloaded, or slow: "
                                + TimeLimits.FACTOR + "=20 in the environment gives it twenty times as long");
            }
            boolean wasSuspended = longJob.suspension != null;
            int before = work.stepsDone();
            queue.step();
            if (longJob.suspension != null && !wasSuspended) {
                stepsAtSuspension = work.stepsDone();
                timeline.say("long", progress(work, stepsAtSuspension) + ", and stand still");
            }
            if (longJob.resumption != null && stepsAtResumption == 0) {
                stepsAtResumption = before;
                timeline.say("long", progress(work, before) + ", and continue");
            }
            if (urgent == null && work.isInMidWork() && before * 100 > work.stepsInAll() * ARRIVES_AT_PERCENT) {
                timeline.say("long", progress(work, before));
                urgent = queue.submit("urgent", URGENT_PRIORITY, spec("urgent", work.shortCommand(URGENT_SECONDS)));
            }
            Thread.sleep(POLL_MILLIS);
        }
        return judge(work, longJob, urgent);
    }

    private String progress(CountedWork work, int steps) {
        return CountedWork.COUNTERS + " counters have done " + steps + " of " + work.stepsInAll() + " steps";
    }

    private StageSpec spec(String name, List<String> command) {
        return new StageSpec(StageId.create("demo-" + name), name, folder.resolve("work"), command, null);
    }

    private boolean judge(CountedWork work, EmbeddedQueue.Job longJob, EmbeddedQueue.Job urgent) throws IOException {
        if (urgent == null || longJob.suspension == null || longJob.resumption == null) {
            return notOk("the long stage ended before it could be preempted");
        }
        if (!Integer.valueOf(0).equals(urgent.exitCode) || !Integer.valueOf(0).equals(longJob.exitCode)) {
            return notOk("exit codes should be 0, but are " + longJob.exitCode + " of the long stage and "
                    + urgent.exitCode + " of the urgent one");
        }
        if (stepsAtSuspension != stepsAtResumption) {
            return notOk(
                    "the long stage did " + (stepsAtResumption - stepsAtSuspension) + " steps while it was suspended");
        }
        if (stepsAtSuspension >= work.stepsInAll()) {
            return notOk("the long stage had done all its steps when it was suspended");
        }
        if (!work.isMemoryTheSame()) {
            return notOk("the bytes that the long stage held in memory are not the same as before");
        }
        int lost = work.workLost();
        if (lost != 0) {
            return notOk(lost + " steps of the long stage were lost or done twice");
        }
        String sealed = longJob.sealing == null ? "" : " sealed_ms=" + (longJob.sealedMillis - longJob.suspendedMillis);
        out.println("demo: ok preemptor_waited_ms=" + (longJob.suspendedMillis - urgent.submittedMillis)
                + " suspended_ms=" + longJob.suspension.freezeMillis() + sealed + " resumed_ms="
                + (longJob.resumption.unpackMillis() + longJob.resumption.restoreMillis()) + " work_lost=" + lost);
        return true;
    }

    private boolean notOk(String why) {
        out.println("demo: not ok: " + why);
        return false;
    }

    private static void remove(Path folder) throws IOException {
        try (Stream<Path> files = Files.walk(folder)) {
            for (Path path : (Iterable<Path>) files.sorted(Comparator.reverseOrder())::iterator) {
                Files.deleteIfExists(path);
            }
        }
    }
}
