package io.jenkins.plugins.preemptible.lifecycle;

import hudson.Extension;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.view.SuspendedStages;
import java.util.List;
import java.util.stream.Collectors;

/**
 * Tells the views which stages of a build are suspended.
 *
 * <ol>
 *   <li>Asked for every build of every list that is shown.
 *   <li>Answers from the registry in memory.
 *   <li>Loads nothing.
 * </ol>
 */
@Extension
public final class ShownStages implements SuspendedStages {

    @Override
    public List<View> of(Run<?, ?> run) {
        return StageRegistry.get().suspendedOf(run.getExternalizableId()).stream()
                .map(stage -> new View(
                        stage.name(), stage.preemptor(), stage.suspendedSinceMillis(), stage.archiveBytes()))
                .collect(Collectors.toList());
    }
}
