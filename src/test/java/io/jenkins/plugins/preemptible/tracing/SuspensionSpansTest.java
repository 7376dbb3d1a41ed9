package io.jenkins.plugins.preemptible.tracing;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.event.StageEnded;
import io.jenkins.plugins.preemptible.event.StageRef;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import io.opentelemetry.api.GlobalOpenTelemetry;
import io.opentelemetry.api.trace.SpanId;
import io.opentelemetry.api.trace.StatusCode;
import io.opentelemetry.sdk.OpenTelemetrySdk;
import io.opentelemetry.sdk.testing.exporter.InMemorySpanExporter;
import io.opentelemetry.sdk.trace.SdkTracerProvider;
import io.opentelemetry.sdk.trace.data.SpanData;
import io.opentelemetry.sdk.trace.export.SimpleSpanProcessor;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** The spans as an exporter gets them. */
class SuspensionSpansTest {

    private static final StageRef STAGE = new StageRef("tests-1a2b3c4d", "tests", "folder/job#17", "agent");
    private static final long START = 1_700_000_000_000L;

    private final InMemorySpanExporter exporter = InMemorySpanExporter.create();
    private final SuspensionSpans spans = new SuspensionSpans();
    private OpenTelemetrySdk sdk;

    @BeforeEach
    void exportIntoMemory() {
        GlobalOpenTelemetry.resetForTest();
        sdk = OpenTelemetrySdk.builder()
                .setTracerProvider(SdkTracerProvider.builder()
                        .addSpanProcessor(SimpleSpanProcessor.create(exporter))
                        .build())
                .build();
        GlobalOpenTelemetry.set(sdk);
    }

    @AfterEach
    void reset() {
        sdk.close();
        GlobalOpenTelemetry.resetForTest();
    }

    private static StageSuspended suspended(long atMillis, long tookMillis) {
        return new StageSuspended(
                STAGE,
                START,
                atMillis,
                tookMillis,
                "HIGHER_PRIORITY_WAITS",
                "Because.",
                "secret #1",
                "secret",
                3,
                4_096,
                false);
    }

    private SpanData span(String name) {
        List<SpanData> found = exporter.getFinishedSpanItems().stream()
                .filter(span -> span.getName().equals(name))
                .toList();
        assertEquals(1, found.size(), () -> name + " in " + exporter.getFinishedSpanItems());
        return found.get(0);
    }

    private static void lasts(long beginMillis, long endMillis, SpanData span) {
        assertEquals(beginMillis, TimeUnit.NANOSECONDS.toMillis(span.getStartEpochNanos()), span.getName());
        assertEquals(endMillis, TimeUnit.NANOSECONDS.toMillis(span.getEndEpochNanos()), span.getName());
    }

    @Test
    void aSuspensionIsOneTraceFromTheRequestUntilTheStageRunsAgain() {
        spans.onSuspended(suspended(START + 100, 40));
        spans.onSealed(new StageSealed(STAGE, START + 900, 200, 300, 4_000, 1_000));
        spans.onResumed(new StageResumed(STAGE, START + 5_000, 70, 4_900, "LOCAL_IMAGE"));

        SpanData whole = span(SuspensionSpans.SUSPENDED);
        lasts(START + 60, START + 5_000, whole);
        assertEquals(SpanId.getInvalid(), whole.getParentSpanId());
        lasts(START + 60, START + 100, span(SuspensionSpans.SUSPEND));
        lasts(START + 400, START + 900, span(SuspensionSpans.SEAL));
        lasts(START + 4_930, START + 5_000, span(SuspensionSpans.RESUME));
        for (SpanData one : exporter.getFinishedSpanItems()) {
            assertEquals(
                    SuspensionSpans.TRACER, one.getInstrumentationScopeInfo().getName());
            assertEquals(whole.getTraceId(), one.getTraceId());
            assertTrue(one == whole || one.getParentSpanId().equals(whole.getSpanId()), one::getName);
            assertEquals("folder/job", one.getAttributes().get(SuspensionSpans.JOB));
            assertEquals("folder/job#17", one.getAttributes().get(SuspensionSpans.RUN));
            assertEquals(17L, one.getAttributes().get(SuspensionSpans.BUILD));
            assertEquals("tests", one.getAttributes().get(SuspensionSpans.STAGE));
            assertEquals("agent", one.getAttributes().get(SuspensionSpans.AGENT));
            assertEquals(StatusCode.UNSET, one.getStatus().getStatusCode());
            assertFalse(one.toString().contains("secret"), "the preemptor's job may be hidden");
        }
        assertEquals("higher_priority_waits", whole.getAttributes().get(SuspensionSpans.REASON));
        assertEquals("local_image", whole.getAttributes().get(SuspensionSpans.TIER));
        assertEquals("resumed", whole.getAttributes().get(SuspensionSpans.OUTCOME));
        assertEquals(4.9, whole.getAttributes().get(SuspensionSpans.WITHOUT_EXECUTOR));
        assertEquals(4_096L, span(SuspensionSpans.SUSPEND).getAttributes().get(SuspensionSpans.MEMORY));
        assertEquals(1_000L, span(SuspensionSpans.SEAL).getAttributes().get(SuspensionSpans.ARCHIVE));
        assertEquals(0.2, span(SuspensionSpans.SEAL).getAttributes().get(SuspensionSpans.DUMP_SECONDS));
    }

    @Test
    void whatCouldNotBeDoneIsASpanWithAnError() {
        FailureReason known = FailureReason.values()[0];
        spans.onSuspended(suspended(START, 10));
        spans.onRefused(new StageRefused(STAGE, START + 50, StageRefused.Phase.SEAL, known.name(), "No room."));
        spans.onRefused(new StageRefused(STAGE, START + 60, StageRefused.Phase.RESUME, "made up by an agent", "Odd."));

        SpanData seal = span(SuspensionSpans.SEAL);
        assertEquals(StatusCode.ERROR, seal.getStatus().getStatusCode());
        assertEquals("No room.", seal.getStatus().getDescription());
        assertEquals(known.name().toLowerCase(Locale.ROOT), seal.getAttributes().get(SuspensionSpans.ERROR));
        assertEquals("other", span(SuspensionSpans.RESUME).getAttributes().get(SuspensionSpans.ERROR));
        assertEquals(span(SuspensionSpans.SUSPEND).getParentSpanId(), seal.getParentSpanId());
    }

    @Test
    void aRefusedMoveHasTheObstacle() {
        spans.onRefused(new StageRefused(STAGE, START, StageRefused.Phase.MOVE, "OTHER_KERNEL", "Sentence."));
        assertEquals("other_kernel", span(SuspensionSpans.MOVE).getAttributes().get(SuspensionSpans.ERROR));
    }

    @Test
    void aRefusedSuspensionIsATraceAlone() {
        spans.onRefused(new StageRefused(STAGE, START, StageRefused.Phase.SUSPEND, "x", "Sentence."));
        assertEquals(SpanId.getInvalid(), span(SuspensionSpans.SUSPEND).getParentSpanId());
    }

    @Test
    void aStageThatEndsWhileItIsSuspendedEndsItsSpan() {
        spans.onSuspended(suspended(START, 10));
        spans.onEnded(new StageEnded(STAGE, START + 700, true));
        spans.onEnded(new StageEnded(STAGE, START + 900, false));
        lasts(START - 10, START + 700, span(SuspensionSpans.SUSPENDED));
        assertEquals("ended", span(SuspensionSpans.SUSPENDED).getAttributes().get(SuspensionSpans.OUTCOME));
    }

    /** As after a restart of the controller. */
    @Test
    void aResumeOfASuspensionThatNobodySawHasTheTimeOfBoth() {
        spans.onResumed(new StageResumed(STAGE, START, 70, 4_900, "ARCHIVE"));
        lasts(START - 4_900, START, span(SuspensionSpans.SUSPENDED));
        assertEquals(
                span(SuspensionSpans.SUSPENDED).getSpanId(),
                span(SuspensionSpans.RESUME).getParentSpanId());
        assertNull(span(SuspensionSpans.SUSPENDED).getAttributes().get(SuspensionSpans.REASON));
    }
}
