package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.InsideReader;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.CriuOptions;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Inspects a running stage for obstacles: what ties it to the outside so that its dump would fail.
 *
 * <ol>
 *   <li>{@link TreeReader} reads everything that is needed from proc(5) once, into an immutable {@link TreeSnapshot}.
 *   <li>{@link Obstacles} and {@link OptionsChoice}, pure functions, find in it what stops a dump and what CRIU needs.
 *   <li>Processes are named by the kernel's short names: what is found travels, their arguments stay on the host.
 *   <li>The stage is neither frozen nor traced nor signalled. What begins after the preflight is found by CRIU.
 * </ol>
 *
 * <p>Safe for any threads; takes no lock. It takes some milliseconds for every hundred processes. Source: "Leak
 * Detection", section 3.6 of Laadan and Hallyn, "Linux-CR: Transparent Application Checkpoint-Restart in Linux"; the
 * kernel's counts of references, which it compares with, are not to be had from outside of the kernel, so the holders
 * themselves are looked for.
 */
public final class Preflight {

    /**
     * What is inspected.
     *
     * @param init the stage's first process
     * @param pids the processes in the stage's control group, as the host numbers them; those below the init where it
     *     has no group
     * @param hostMounts the mount points that the image refers to, see {@code Mounts}
     * @param connections what becomes of TCP connections to the outside
     * @param imageFolder where CRIU's images will go; it need not exist yet
     * @param inside reads what this process may not
     */
    public record Subject(
            HostProcess init,
            List<Long> pids,
            List<String> hostMounts,
            Connections connections,
            Path imageFolder,
            InsideReader inside) {

        /** Of a stage whose processes this process may read. */
        public Subject(
                HostProcess init, List<Long> pids, List<String> hostMounts, Connections connections, Path imageFolder) {
            this(init, pids, hostMounts, connections, imageFolder, InsideReader.NONE);
        }

        public Subject {
            pids = List.copyOf(pids);
            hostMounts = List.copyOf(hostMounts);
            connections = connections == null ? Connections.REFUSE : connections;
        }
    }

    private Preflight() {}

    /**
     * Inspects once. A process that ends meanwhile is left out; a stage that has ended has no obstacles.
     *
     * @return the obstacles, the lasting ones first, and the options for the dump
     */
    public static PreflightReport of(Subject subject) {
        TreeSnapshot tree = TreeReader.read(subject);
        CriuOptions options = OptionsChoice.of(tree, subject.connections());
        List<Obstacle> obstacles = new ArrayList<>(Obstacles.of(tree, subject.connections()));
        obstacles.addAll(MountObstacles.ofFormats(Proc.mountInfo(subject.init().pid()), Proc.self("mountinfo")));
        if (subject.inside() != InsideReader.NONE) {
            obstacles.addAll(MountObstacles.of(subject.hostMounts()));
            if (options.tcpEstablished()) {
                obstacles.addAll(SocketObstacles.inside(tree));
            }
        }
        return new PreflightReport(obstacles, options);
    }
}
