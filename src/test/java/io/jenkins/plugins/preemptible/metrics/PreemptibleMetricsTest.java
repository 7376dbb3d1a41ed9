package io.jenkins.plugins.preemptible.metrics;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.codahale.metrics.MetricRegistry;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRef;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import jenkins.metrics.api.Metrics;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

@WithJenkins
class PreemptibleMetricsTest {

    private static final StageRef STAGE = new StageRef("id", "stage", "job#1", "agent");

    @Test
    void whatHappensIsInTheRegistryOfTheMetricsPlugin(JenkinsRule j) {
        StageListener.fire(listener ->
                listener.onSuspended(new StageSuspended(STAGE, 1, 2, 700, "R", "S.", null, null, 1, 1, false)));
        StageListener.fire(listener -> listener.onSealed(new StageSealed(STAGE, 3, 1, 1, 10, 5)));
        StageListener.fire(listener -> listener.onResumed(new StageResumed(STAGE, 4, 800, 2_000, "FROZEN")));
        String known = FailureReason.values()[0].name();
        StageListener.fire(
                listener -> listener.onRefused(new StageRefused(STAGE, 5, StageRefused.Phase.SEAL, known, "Because.")));
        StageListener.fire(listener -> listener.onRefused(
                new StageRefused(STAGE, 5, StageRefused.Phase.SUSPEND, "made up by an agent", "Because.")));
        MetricRegistry registry = Metrics.metricRegistry();
        assertEquals(1, registry.timer("preemptible.suspend").getCount());
        assertEquals(1, registry.timer("preemptible.resume").getCount());
        assertEquals(5, registry.counter("preemptible.sealed.bytes").getCount());
        assertEquals(1, registry.counter("preemptible.lost-seconds").getCount(), "700 and 800 ms");
        assertEquals(
                1,
                registry.counter("preemptible.refused.seal." + known.toLowerCase(java.util.Locale.ROOT))
                        .getCount());
        assertEquals(1, registry.counter("preemptible.refused.suspend.other").getCount());
        assertEquals(0L, registry.getGauges().get("preemptible.suspended").getValue());
        assertTrue(registry.getNames().stream().noneMatch(name -> name.contains("made up")));
    }
}
