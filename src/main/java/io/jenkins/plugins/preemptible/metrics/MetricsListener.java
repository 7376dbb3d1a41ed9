package io.jenkins.plugins.preemptible.metrics;

import com.codahale.metrics.MetricRegistry;
import hudson.Extension;
import io.jenkins.plugins.preemptible.event.PreemptorStarted;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import jenkins.metrics.api.Metrics;

/** Brings what happens to stages into {@link PreemptibleMetrics}. */
@Extension(optional = true)
public final class MetricsListener implements StageListener {

    /** What is less than a second of the time that suspensions and resumptions took. */
    private final AtomicLong lostMillis = new AtomicLong();

    @Override
    public void onSuspended(StageSuspended event) {
        PreemptibleMetrics.get().suspend.update(event.tookMillis(), TimeUnit.MILLISECONDS);
        lost(event.tookMillis());
    }

    @Override
    public void onSealed(StageSealed event) {
        PreemptibleMetrics.get().sealed.inc();
        PreemptibleMetrics.get().sealedBytes.inc(event.archiveBytes());
    }

    @Override
    public void onResumed(StageResumed event) {
        PreemptibleMetrics.get().resume.update(event.tookMillis(), TimeUnit.MILLISECONDS);
        PreemptibleMetrics.get().withoutExecutor.update(event.suspendedMillis(), TimeUnit.MILLISECONDS);
        lost(event.tookMillis());
    }

    @Override
    public void onPreemptorStarted(PreemptorStarted event) {
        PreemptibleMetrics.get().preemptorWait.update(Math.max(0, event.waitedMillis()), TimeUnit.MILLISECONDS);
    }

    @Override
    public void onRefused(StageRefused event) {
        Metrics.metricRegistry()
                .counter(MetricRegistry.name(
                        PreemptibleMetrics.PREFIX + "refused",
                        event.phase().name().toLowerCase(Locale.ROOT),
                        event.countedReason().toLowerCase(Locale.ROOT)))
                .inc();
    }

    private void lost(long millis) {
        long all = lostMillis.addAndGet(millis);
        long seconds = all / 1_000;
        if (seconds > 0) {
            lostMillis.addAndGet(-1_000 * seconds);
            PreemptibleMetrics.get().lostSeconds.inc(seconds);
        }
    }
}
