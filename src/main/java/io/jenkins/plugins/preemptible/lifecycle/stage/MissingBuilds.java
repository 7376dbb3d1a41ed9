package io.jenkins.plugins.preemptible.lifecycle.stage;

import hudson.Extension;
import hudson.model.Job;
import hudson.model.PeriodicWork;
import java.io.File;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import jenkins.model.Jenkins;

/**
 * Drops the keys of images whose builds were removed from the disk behind Jenkins' back, of which nothing is told.
 *
 * <ol>
 *   <li>Looks once an hour, at the few ended stages whose images are kept.
 *   <li>A build is missing when its job is known and its folder is not there.
 *   <li>A job that is unknown may be one that could not be loaded: its keys stay.
 * </ol>
 */
@Extension
public final class MissingBuilds extends PeriodicWork {

    @Override
    public long getRecurrencePeriod() {
        return TimeUnit.HOURS.toMillis(1);
    }

    @Override
    protected void doRun() {
        Set<String> missing = StageRegistry.get().kept().stream()
                .filter(MissingBuilds::isMissing)
                .map(StageRecord::id)
                .collect(Collectors.toSet());
        if (!missing.isEmpty()) {
            StageRegistry.get().dropKept(stage -> missing.contains(stage.id));
        }
    }

    private static boolean isMissing(StageRecord stage) {
        Job<?, ?> job = Jenkins.get().getItemByFullName(stage.job(), Job.class);
        return job != null
                && !new File(
                                job.getBuildDir(),
                                stage.runId.substring(stage.job().length() + 1))
                        .isDirectory();
    }
}
