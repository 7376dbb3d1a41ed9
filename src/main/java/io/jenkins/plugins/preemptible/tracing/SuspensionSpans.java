package io.jenkins.plugins.preemptible.tracing;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRef;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.common.AttributeKey;
import io.opentelemetry.api.common.Attributes;
import io.opentelemetry.api.trace.Span;
import io.opentelemetry.api.trace.SpanBuilder;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.context.Context;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;

/**
 * One trace for each suspension of a stage.
 *
 * <ol>
 *   <li>{@value #SUSPENDED} lasts from the request until the stage runs again or has ended. Its children are
 *       {@value #SUSPEND} (request to executor free), {@value #SEAL} and {@value #RESUME} (executor there to stage runs).
 *   <li>What could not be done is a span of no length with the status ERROR; outside of a suspension it is a trace alone.
 *   <li>A restart of the controller loses the span of a suspension that lasts: its resume begins a trace of its own, with
 *       {@value #SUSPENDED} as long as the stage had no executor.
 *   <li>Nobody's preemptor is named: not all who read traces may read its job.
 * </ol>
 *
 * Safe for any thread: the events of one stage come one after the other.
 */
@Extension(optional = true)
public final class SuspensionSpans implements StageListener {

    static final String TRACER = "io.jenkins.plugins.preemptible";
    static final String SUSPENDED = "preemptible suspended";
    static final String SUSPEND = "preemptible suspend";
    static final String SEAL = "preemptible seal";
    static final String RESUME = "preemptible resume";
    static final String MOVE = "preemptible move";

    /** OpenTelemetry's conventions for continuous integration, and for errors. */
    static final AttributeKey<String> JOB = AttributeKey.stringKey("cicd.pipeline.name");

    static final AttributeKey<String> RUN = AttributeKey.stringKey("cicd.pipeline.run.id");
    static final AttributeKey<String> STAGE = AttributeKey.stringKey("cicd.pipeline.task.name");
    static final AttributeKey<String> STAGE_ID = AttributeKey.stringKey("cicd.pipeline.task.run.id");
    static final AttributeKey<String> AGENT = AttributeKey.stringKey("cicd.worker.name");
    static final AttributeKey<String> ERROR = AttributeKey.stringKey("error.type");

    /** Ours: constants in lower case, sizes in bytes, durations in seconds. */
    static final AttributeKey<Long> BUILD = AttributeKey.longKey("preemptible.build.number");

    static final AttributeKey<String> REASON = AttributeKey.stringKey("preemptible.reason");
    static final AttributeKey<String> TIER = AttributeKey.stringKey("preemptible.tier");
    static final AttributeKey<String> OUTCOME = AttributeKey.stringKey("preemptible.outcome");
    static final AttributeKey<Boolean> MEMORY_ONLY = AttributeKey.booleanKey("preemptible.memory_only");
    static final AttributeKey<Long> PROCESSES = AttributeKey.longKey("preemptible.process.count");
    static final AttributeKey<Long> MEMORY = AttributeKey.longKey("preemptible.memory.size");
    static final AttributeKey<Long> IMAGE = AttributeKey.longKey("preemptible.image.size");
    static final AttributeKey<Long> ARCHIVE = AttributeKey.longKey("preemptible.archive.size");
    static final AttributeKey<Double> DUMP_SECONDS = AttributeKey.doubleKey("preemptible.dump.duration");
    static final AttributeKey<Double> SEAL_SECONDS = AttributeKey.doubleKey("preemptible.seal.duration");
    static final AttributeKey<Double> WITHOUT_EXECUTOR =
            AttributeKey.doubleKey("preemptible.without_executor.duration");

    /** The spans of suspensions that last, by the stage's id. */
    private final Map<String, Span> open = new ConcurrentHashMap<>();

    @Override
    public void onSuspended(StageSuspended event) {
        long begin = event.atMillis() - event.tookMillis();
        Span whole = begin(SUSPENDED, null, event.stage(), begin);
        whole.setAttribute(REASON, word(event.reason()));
        Span before = open.put(event.stage().id(), whole);
        if (before != null) {
            before.end(begin, TimeUnit.MILLISECONDS);
        }
        begin(SUSPEND, whole, event.stage(), begin)
                .setAttribute(REASON, word(event.reason()))
                .setAttribute(PROCESSES, (long) event.processes())
                .setAttribute(MEMORY, event.residentBytes())
                .setAttribute(MEMORY_ONLY, event.memoryOnly())
                .end(event.atMillis(), TimeUnit.MILLISECONDS);
    }

    @Override
    public void onSealed(StageSealed event) {
        long begin = event.atMillis() - event.dumpMillis() - event.sealMillis();
        begin(SEAL, open.get(event.stage().id()), event.stage(), begin)
                .setAttribute(IMAGE, event.imageBytes())
                .setAttribute(ARCHIVE, event.archiveBytes())
                .setAttribute(DUMP_SECONDS, seconds(event.dumpMillis()))
                .setAttribute(SEAL_SECONDS, seconds(event.sealMillis()))
                .end(event.atMillis(), TimeUnit.MILLISECONDS);
    }

    @Override
    public void onResumed(StageResumed event) {
        Span whole = open.remove(event.stage().id());
        if (whole == null) {
            whole = begin(SUSPENDED, null, event.stage(), event.atMillis() - event.suspendedMillis());
        }
        begin(RESUME, whole, event.stage(), event.atMillis() - event.tookMillis())
                .setAttribute(TIER, word(event.tier()))
                .end(event.atMillis(), TimeUnit.MILLISECONDS);
        whole.setAttribute(TIER, word(event.tier()))
                .setAttribute(WITHOUT_EXECUTOR, seconds(event.suspendedMillis()))
                .setAttribute(OUTCOME, "resumed")
                .end(event.atMillis(), TimeUnit.MILLISECONDS);
    }

    @Override
    public void onRefused(StageRefused event) {
        String name =
                switch (event.phase()) {
                    case SUSPEND -> SUSPEND;
                    case SEAL -> SEAL;
                    case RESUME -> RESUME;
                    case MOVE -> MOVE;
                };
        begin(name, open.get(event.stage().id()), event.stage(), event.atMillis())
                .setAttribute(ERROR, word(event.countedReason()))
                .setStatus(StatusCode.ERROR, event.sentence())
                .end(event.atMillis(), TimeUnit.MILLISECONDS);
    }

    @Override
    public void onEnded(StageEnded event) {
        Span whole = open.remove(event.stage().id());
        if (whole != null) {
            whole.setAttribute(OUTCOME, "ended").end(event.atMillis(), TimeUnit.MILLISECONDS);
        }
    }

    /** @param parent null = it begins a trace */
    private static Span begin(String name, @CheckForNull Span parent, StageRef stage, long atMillis) {
        SpanBuilder span = GlobalOpenTelemetry.getTracer(TRACER)
                .spanBuilder(name)
                .setStartTimestamp(atMillis, TimeUnit.MILLISECONDS)
                .setAllAttributes(attributes(stage));
        // The thread's own context is of whatever happens to end the suspension.
        return (parent == null
                        ? span.setNoParent()
                        : span.setParent(Context.root().with(parent)))
                .startSpan();
    }

    private static Attributes attributes(StageRef stage) {
        String number = stage.runId().substring(stage.job().length() + 1);
        return Attributes.builder()
                .put(JOB, stage.job())
                .put(RUN, stage.runId())
                .put(BUILD, Long.parseLong(number))
                .put(STAGE, stage.name())
                .put(STAGE_ID, stage.id())
                .put(AGENT, stage.node())
                .build();
    }

    private static String word(String constant) {
        return constant.toLowerCase(Locale.ROOT);
    }

    private static double seconds(long millis) {
        return millis / 1_000.0;
    }
}
