package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;

/** What a container of the stage stands against. Its processes are no part of the stage's tree. */
public final class ContainerObstacles {

    private ContainerObstacles() {}

    /** It can be frozen with the stage. @param words name it */
    public static Obstacle notDumped(String words) {
        return new Obstacle(FailureReason.CONTAINER, 0, "", words);
    }

    /** It can be neither frozen nor dumped. @param words name it and say why */
    public static Obstacle unreachable(String words) {
        return new Obstacle(FailureReason.CONTAINER_UNREACHABLE, 0, "", words);
    }
}
