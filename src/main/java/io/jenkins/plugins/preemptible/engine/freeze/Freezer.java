package io.jenkins.plugins.preemptible.engine.freeze;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/**
 * Stops every process of a stage, and lets it run again.
 *
 * <ol>
 *   <li>A control group, where one can be made, stops the whole tree at once and lets CRIU dump it as it is.
 *   <li>Without one, stop signals go round the tree until a round finds nothing that runs.
 *   <li>Killing works in every state, frozen or not.
 * </ol>
 *
 * Freezing and thawing are not safe for several threads at once; the engine's lock of the stage covers them. Killing
 * is, at any time. Source: the kernel's
 * admin-guide/cgroup-v2 (cgroup.freeze, cgroup.kill) and cgroup-v1/freezer-subsystem.
 */
public sealed interface Freezer permits CgroupFreezer, HelperFreezer, SignalFreezer {

    /** Makes the group. */
    void create() throws IOException;

    /** The group's folder for {@code criu dump --freeze-cgroup}; empty when there is none. */
    Optional<Path> cgroup();

    /** The file into which a process writes 0 to belong to the stage; empty when there is none. */
    Optional<Path> joinFile();

    /** The process ids (of the host) that belong to the stage. */
    List<Long> pids(HostProcess init) throws IOException;

    /**
     * Returns when nothing of the stage runs any more.
     *
     * @throws IOException when it is not frozen within {@code limit}; the stage runs then
     */
    void freeze(HostProcess init, Duration limit) throws IOException;

    /** Whether the stage is frozen, or is about to be: false as soon as it is thawed. */
    boolean holds(HostProcess init) throws IOException;

    /** Lets all processes run again; without effect when nothing is frozen or the stage is gone. */
    void thaw(HostProcess init) throws IOException;

    /** Sends SIGKILL to every process and lets it take effect; does not wait. */
    void kill(HostProcess init) throws IOException;

    /** Removes the group, waiting a moment for the last process to leave it; without effect when it is gone. */
    void remove() throws IOException;

    FreezerKind kind();

    /** How the record names it; {@link FreezerKind#at} finds it again. */
    String location();
}
