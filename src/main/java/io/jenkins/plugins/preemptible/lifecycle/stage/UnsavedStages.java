package io.jenkins.plugins.preemptible.lifecycle.stage;

import hudson.Extension;
import hudson.model.PeriodicWork;
import java.util.concurrent.TimeUnit;

/**
 * Saves the records of stages again that the controller's disk did not take.
 *
 * <p>A stage that was resumed while the disk was full runs, and its file says that it is being resumed: a restart of the controller
 * would take it for one whose resume was cut off.
 */
@Extension
public final class UnsavedStages extends PeriodicWork {

    private static final long PERIOD_MILLIS = TimeUnit.SECONDS.toMillis(10);

    @Override
    public long getRecurrencePeriod() {
        return PERIOD_MILLIS;
    }

    @Override
    protected void doRun() {
        StageRegistry.get().saveUnsaved();
    }
}
