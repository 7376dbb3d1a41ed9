package io.jenkins.plugins.preemptible.engine.move;

import java.util.Map;

/**
 * What a suspended stage takes on the agent where it goes on.
 *
 * @param memoryBytes of its processes; -1 = unknown
 * @param diskBytes of image and workspace while they are unpacked; -1 = unknown
 * @param buildIds of the files that its processes map, as its image says; empty before the image is at hand
 */
public record StageNeeds(long memoryBytes, long diskBytes, Map<String, String> buildIds) {

    public StageNeeds {
        buildIds = Map.copyOf(buildIds);
    }
}
