package io.jenkins.plugins.preemptible.engine.stage;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;

/**
 * The container in which all processes of a stage live.
 *
 * @param container its id in full
 * @param first the container's first process: with its end, or another one in its place, this run of the container is over,
 *     and nothing can be resumed in it any more
 */
public record StageContainer(ContainerRef container, HostProcess first) {

    /** False as soon as its first process is about to end: with that, the kernel kills all of them. */
    public boolean runs() {
        return first.alive() && !Proc.exiting(first.pid());
    }
}
