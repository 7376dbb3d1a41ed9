package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** A file system in memory that can be filled. */
public final class FullDisk implements AutoCloseable {

    private final Path folder;
    private final String size;

    /** Mounts it. */
    public FullDisk(Path folder, String size) throws IOException {
        this.folder = Files.createDirectories(folder);
        this.size = size;
        HostTool.Answer mounted = HostTool.run(
                10, List.of("mount", "-t", "tmpfs", "-o", "size=" + size + ",mode=755", "none", folder.toString()));
        assertTrue(mounted.ok(), mounted::text);
    }

    Path folder() {
        return folder;
    }

    /** Leaves it as large as what it holds: nothing has to be written for that, and no memory is taken. */
    public void fill() {
        // What is written meanwhile makes it too small a size.
        await("the disk is full")
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(20))
                .until(() -> {
                    FileStore store = Files.getFileStore(folder);
                    long used = store.getTotalSpace() - store.getUnallocatedSpace();
                    return resize(used / 1024 + "k");
                });
    }

    public void empty() {
        assertTrue(resize(size));
    }

    private boolean resize(String to) {
        return HostTool.run(10, List.of("mount", "-o", "remount,size=" + to, folder.toString()))
                .ok();
    }

    @Override
    public void close() throws IOException {
        HostTool.run(10, List.of("umount", "--lazy", folder.toString()));
        Files.deleteIfExists(folder);
    }
}
