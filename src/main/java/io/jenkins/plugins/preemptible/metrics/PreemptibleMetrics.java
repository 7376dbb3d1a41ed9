package io.jenkins.plugins.preemptible.metrics;

import com.codahale.metrics.Counter;
import com.codahale.metrics.Gauge;
import com.codahale.metrics.MetricSet;
import com.codahale.metrics.Timer;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.ExtensionList;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.util.function.Predicate;
import jenkins.metrics.api.MetricProvider;

/**
 * What this plugin adds to the registry of the Metrics plugin, all below {@code preemptible.}
 *
 * <table>
 *   <caption>The metrics</caption>
 *   <tr><th>Name</th><th>What it is</th></tr>
 *   <tr><td>suspended, running, undecided</td><td>stages in that state now; undecided: their resume failed three times</td></tr>
 *   <tr><td>suspend</td><td>timer: from the request until the executor was free</td></tr>
 *   <tr><td>resume</td><td>timer: from the arrival of the executor until the stage ran</td></tr>
 *   <tr><td>without-executor</td><td>timer: how long stages that were resumed had no executor</td></tr>
 *   <tr><td>preemptor.wait</td><td>timer: from the decision until the item had its executor</td></tr>
 *   <tr><td>sealed, sealed.bytes</td><td>counters: images archived, and their bytes</td></tr>
 *   <tr><td>lost-seconds</td><td>counter: executor time that suspending and resuming took</td></tr>
 *   <tr><td>refused.PHASE.REASON</td><td>counters, each from its first time on</td></tr>
 * </table>
 *
 * Counters begin at 0 when the controller starts. Safe for any thread.
 */
@Extension(optional = true)
public final class PreemptibleMetrics extends MetricProvider {

    static final String PREFIX = "preemptible.";

    final Timer suspend = new Timer();
    final Timer resume = new Timer();
    final Timer withoutExecutor = new Timer();
    final Timer preemptorWait = new Timer();
    final Counter sealed = new Counter();
    final Counter sealedBytes = new Counter();
    final Counter lostSeconds = new Counter();

    static PreemptibleMetrics get() {
        return ExtensionList.lookupSingleton(PreemptibleMetrics.class);
    }

    @NonNull
    @Override
    public MetricSet getMetricSet() {
        return metrics(
                metric(PREFIX + "suspended", count(StageRecord::suspended)),
                metric(PREFIX + "running", count(stage -> !stage.suspended())),
                metric(PREFIX + "undecided", count(stage -> stage.whyNotResumed() != null)),
                metric(PREFIX + "suspend", suspend),
                metric(PREFIX + "resume", resume),
                metric(PREFIX + "without-executor", withoutExecutor),
                metric(PREFIX + "preemptor.wait", preemptorWait),
                metric(PREFIX + "sealed", sealed),
                metric(PREFIX + "sealed.bytes", sealedBytes),
                metric(PREFIX + "lost-seconds", lostSeconds));
    }

    private static Gauge<Long> count(Predicate<StageRecord> which) {
        return () -> StageRegistry.get().all().stream().filter(which).count();
    }
}
