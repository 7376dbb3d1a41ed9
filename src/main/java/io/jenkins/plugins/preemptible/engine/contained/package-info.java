/**
 * Stages whose processes live inside of a running container of Docker or Podman, and are dumped and restored there.
 *
 * <p>The stage has its own PID, IPC and mount namespaces inside of the container's, its control group is one of the
 * container's, and its processes have the rights that the container's program gives to what it starts there: they are read from
 * such a process, never listed here. What differs is refused. Used by {@code home}, {@code suspend}, {@code resume} and
 * {@code criu}. As root only; for any thread. Tests: {@code ContainedStageTest} and {@code ContainedRightsTest}, with real
 * containers.
 */
package io.jenkins.plugins.preemptible.engine.contained;
