/**
 * Stages whose steps run in a container of Docker or Podman: the container is paused with the stage.
 *
 * <p>A process that {@code docker exec} starts is no child of the stage and in none of its control groups: it is the
 * container's. So the stage's container is stopped beside the stage, by the program's own {@code pause}, which its daemon
 * and everybody who asks that notices. Used by the facade alone. What was paused is on disk, below the home folder, before it
 * is; another process can take the next step. Tests: {@code ContainerStageTest}, with real containers.
 */
package io.jenkins.plugins.preemptible.engine.container;
