package io.jenkins.plugins.preemptible.engine.container;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import java.util.List;

/**
 * What is known of a stage's containers. Its fields are those of the note on disk, which later versions read.
 *
 * @param containers in which its steps run
 * @param paused whether they are paused with the stage, or just being paused or started again
 * @param init the stage's first process: what is older in a container is not the stage's
 * @param marks variables that its containers were started with: one without them is not the stage's
 * @param own ids of those that were found to have them, in full
 */
record ContainerNote(
        List<ContainerRef> containers, boolean paused, HostProcess init, List<String> marks, List<String> own) {

    static final ContainerNote NONE = new ContainerNote(List.of(), false, null, List.of(), List.of());

    ContainerNote {
        containers = containers == null ? List.of() : List.copyOf(containers);
        marks = marks == null ? List.of() : List.copyOf(marks);
        own = own == null ? List.of() : List.copyOf(own);
    }

    ContainerNote with(List<ContainerRef> others) {
        return new ContainerNote(others, paused && !others.isEmpty(), init, marks, own);
    }

    ContainerNote withOwn(List<String> found) {
        return new ContainerNote(containers, paused, init, marks, found);
    }

    ContainerNote withPaused(boolean now) {
        return new ContainerNote(containers, now, init, marks, own);
    }
}
