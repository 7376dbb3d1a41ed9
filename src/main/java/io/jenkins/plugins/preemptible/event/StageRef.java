package io.jenkins.plugins.preemptible.event;

import edu.umd.cs.findbugs.annotations.NonNull;

/**
 * Which stage an event is about.
 *
 * @param id of the stage, unique on its controller
 * @param name as people see it; not unique
 * @param runId of its build, as {@link hudson.model.Run#getExternalizableId}
 * @param node name of its agent; empty for the built-in node
 */
public record StageRef(
        @NonNull String id,
        @NonNull String name,
        @NonNull String runId,
        @NonNull String node) {

    /** Full name of the build's job. */
    public String job() {
        return runId.substring(0, runId.lastIndexOf('#'));
    }
}
