package io.jenkins.plugins.preemptible.engine.api;

import java.io.Serializable;
import java.util.List;

/**
 * Containers that are paused with a stage.
 *
 * @param containers none where nothing is paused
 * @param reachable whether their program answers for all of them: where it does not, none can run again for now
 */
public record PausedContainers(List<ContainerRef> containers, boolean reachable) implements Serializable {

    private static final long serialVersionUID = 1L;

    public static final PausedContainers NONE = new PausedContainers(List.of(), true);

    /** Nobody tells which there are. */
    public static final PausedContainers UNTOLD = new PausedContainers(List.of(), false);

    public PausedContainers {
        containers = List.copyOf(containers);
    }
}
