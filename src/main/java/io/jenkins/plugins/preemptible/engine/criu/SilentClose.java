package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.host.LibC;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * Lets the TCP connections of a dumped tree disappear without a packet to their peers.
 *
 * <ol>
 *   <li>CRIU kills a tree while its sockets are in repair mode, in which the kernel says nothing at a close. Here the
 *       tree is killed later, by the engine: each connection would be closed by the protocol, and its address stay in
 *       use for another minute (TIME_WAIT), so that a resume within it fails with {@code Address already in use}.
 *   <li>So before the kill each socket of the frozen tree is fetched (pidfd_getfd) and put into repair mode.
 *   <li>A kernel before 5.6, or a user without CAP_NET_ADMIN, changes nothing: the resume has to wait then.
 * </ol>
 *
 * Only for connections within the tree: a peer outside would never hear that it is alone. Source: tcp(7);
 * pidfd_getfd(2); CRIU 4.2.1, {@code soccr/soccr.c}.
 */
public final class SilentClose {

    private SilentClose() {}

    /**
     * Prepares a frozen tree for its end; it must not run again.
     *
     * @param pids its processes, as the host numbers them
     * @return how many sockets will disappear silently
     */
    public static int prepare(List<Long> pids) {
        int silenced = 0;
        for (long pid : pids) {
            try (DirectoryStream<Path> open = Files.newDirectoryStream(Path.of("/proc/" + pid + "/fd"))) {
                for (Path file : open) {
                    if (isSocket(file)
                            && LibC.repairSocket(
                                    pid, Integer.parseInt(file.getFileName().toString()))) {
                        silenced++;
                    }
                }
            } catch (IOException | DirectoryIteratorException e) {
                // A process that is gone has no connection.
            }
        }
        return silenced;
    }

    private static boolean isSocket(Path file) {
        try {
            return Files.readSymbolicLink(file).toString().startsWith("socket:");
        } catch (IOException e) {
            return false;
        }
    }
}
