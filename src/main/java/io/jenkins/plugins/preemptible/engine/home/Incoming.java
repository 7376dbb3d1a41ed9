package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.host.HostMemory;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Where archives are unpacked for a restore, each into a folder of its own for its owner only: it holds a stage's
 * memory.
 *
 * <ol>
 *   <li>In memory where the host has room for the image twice, beside the floor: once unpacked, once restored. The disk
 *       is not needed then. Otherwise below the engine's home.
 *   <li>A folder is named after the process that made it. Those of processes that died are removed before the next
 *       unpacking, and by {@link #sweep}.
 * </ol>
 *
 * @param home of the engine
 * @param mayUseMemory whether the files may lie outside of the home
 */
public record Incoming(Path home, boolean mayUseMemory) {

    private static final Logger LOG = Logger.getLogger(Incoming.class.getName());
    private static final Path MEMORY = Path.of("/dev/shm");
    private static final String ON_DISK = "image";
    private static final String IN_MEMORY = "preemptible_image";
    /** Containers may share /dev/shm and not their process ids. */
    private static final Path NAMESPACE = Path.of("/proc/self/ns/pid");

    private static final Set<PosixFilePermission> OWNER_ONLY = PosixFilePermissions.fromString("rwx------");

    /**
     * Makes a new folder.
     *
     * @param bytes that will be unpacked into it
     */
    public Path folder(long bytes) throws IOException {
        HostProcess self = HostProcess.of(ProcessHandle.current().pid()).orElseThrow();
        Path disk = onDisk();
        sweep();
        boolean memory = mayUseMemory && hasRoom(bytes);
        return Files.createTempDirectory(
                memory ? MEMORY : disk,
                (memory ? inMemory() : ON_DISK) + "-" + self.pid() + "-" + self.startTicks() + "-",
                PosixFilePermissions.asFileAttribute(OWNER_ONLY));
    }

    private static boolean hasRoom(long bytes) {
        try {
            var store = Files.getFileStore(MEMORY);
            return store.type().equals("tmpfs")
                    && store.getUsableSpace() / 2 > bytes
                    && (HostMemory.now().availableBytes() - FreezeRequest.DEFAULT_MEMORY_FLOOR) / 2 > bytes;
        } catch (IOException e) {
            return false;
        }
    }

    private Path onDisk() throws IOException {
        Path incoming = home.resolve("incoming");
        Files.createDirectories(incoming, PosixFilePermissions.asFileAttribute(OWNER_ONLY));
        Files.setPosixFilePermissions(incoming, OWNER_ONLY);
        return incoming;
    }

    /**
     * Removes one of these folders; without effect for any other path.
     *
     * @param folder as {@link #folder} has made it, in this process or in another one
     */
    public void remove(String folder) throws IOException {
        Path entry = Path.of(folder);
        Path parent = entry.getParent();
        String prefix = MEMORY.equals(parent) ? inMemory() : ON_DISK;
        boolean isIncoming = MEMORY.equals(parent) || home.resolve("incoming").equals(parent);
        if (isIncoming
                && entry.getFileName().toString().startsWith(prefix + "-")
                && Files.exists(entry, LinkOption.NOFOLLOW_LINKS)
                && isOwn(entry)) {
            StageFolder.delete(entry);
        }
    }

    /** Removes the folders of resumes whose processes died: they hold the plain memory of stages. */
    void sweep() {
        sweep(home.resolve("incoming"), ON_DISK);
        if (mayUseMemory) {
            sweep(MEMORY, inMemory());
        }
    }

    private static String inMemory() {
        try {
            return IN_MEMORY + "_"
                    + Files.readSymbolicLink(NAMESPACE).toString().replaceAll("\\D", "");
        } catch (IOException e) {
            return IN_MEMORY;
        }
    }

    private void sweep(Path incoming, String prefix) {
        if (!Files.isDirectory(incoming)) {
            return;
        }
        try (var entries = Files.list(incoming)) {
            for (Path entry : entries.toList()) {
                if (isOfTheDead(entry.getFileName().toString(), prefix) && isOwn(entry)) {
                    StageFolder.delete(entry);
                }
            }
        } catch (IOException | UncheckedIOException e) {
            LOG.log(Level.WARNING, e, () -> "what is left in " + incoming + " cannot be removed");
        }
    }

    // All users may write to /dev/shm. A folder of another user could become a link while it is being deleted.
    private boolean isOwn(Path entry) throws IOException {
        return Files.getOwner(entry, LinkOption.NOFOLLOW_LINKS).equals(Files.getOwner(home))
                && Files.isDirectory(entry, LinkOption.NOFOLLOW_LINKS);
    }

    private static boolean isOfTheDead(String name, String prefix) {
        List<String> parts = List.of(name.split("-"));
        return parts.size() == 4
                && parts.get(0).equals(prefix)
                && parts.get(1).matches("\\d{1,10}")
                && parts.get(2).matches("\\d{1,18}")
                && !new HostProcess(Long.parseLong(parts.get(1)), Long.parseLong(parts.get(2)), Proc.bootId()).alive();
    }
}
