package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Kind;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Member;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.OpenFile;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Room;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;

/**
 * Estimates the size of a stage's image and reads how much room there is.
 *
 * <ol>
 *   <li>Needed: every process's anonymous memory, shared memory once, deleted files, and the stage's own tmpfs mounts.
 *   <li>Free: the space of the file system that the image's folder is on, or will be on.
 *   <li>Where that is a tmpfs, the memory that the kernel could still give out counts too.
 * </ol>
 */
final class RoomReader {

    private RoomReader() {}

    static Room read(Preflight.Subject subject, List<Member> members, ProcView proc) {
        Path folder = subject.imageFolder().toAbsolutePath();
        while (!Files.exists(folder) && folder.getParent() != null) {
            folder = folder.getParent();
        }
        long needed = memory(members) + ownMounts(subject, proc);
        long old = old(subject.imageFolder());
        return new Room(
                folder.toString(),
                needed,
                folder.toFile().getUsableSpace() + old,
                inMemory(folder) ? freeMemory(proc) + old : Long.MAX_VALUE);
    }

    // The images of the suspension before are removed first.
    private static long old(Path images) {
        File[] files = images.toFile().listFiles();
        return files == null ? 0 : Stream.of(files).mapToLong(File::length).sum();
    }

    static long memory(List<Member> members) {
        long bytes = 0;
        Map<String, Long> shared = new HashMap<>();
        for (Member member : members) {
            bytes += member.anonymousBytes();
            for (OpenFile file : member.files()) {
                if (file.kind() == Kind.REGULAR && file.deleted()) {
                    shared.merge(file.identity(), file.bytes(), Math::max);
                }
            }
        }
        for (long each : shared.values()) {
            bytes += each;
        }
        return bytes;
    }

    // The host's mounts are only referred to; what the stage mounted for itself travels with it.
    private static long ownMounts(Preflight.Subject subject, ProcView proc) {
        long pid = subject.init().pid();
        return proc.lines(ProcFiles.of(pid).resolve("mountinfo"))
                .filter(l -> l.contains(" - tmpfs "))
                .map(RoomReader::mountPoint)
                .filter(p -> !subject.hostMounts().contains(p))
                .distinct()
                .mapToLong(p -> proc.used(ProcFiles.of(pid).resolve("root") + p))
                .sum();
    }

    /** The mount point in a line of mountinfo, where the kernel writes blank, tab, newline and backslash in octal. */
    static String mountPoint(String line) {
        return line.split(" ")[4]
                .replace("\\040", " ")
                .replace("\\011", "\t")
                .replace("\\012", "\n")
                .replace("\\134", "\\");
    }

    private static boolean inMemory(Path folder) {
        try {
            return List.of("tmpfs", "ramfs").contains(Files.getFileStore(folder).type());
        } catch (IOException e) {
            // A mount that this process does not see in its table: a disk is the usual thing.
            return false;
        }
    }

    private static long freeMemory(ProcView proc) {
        return ProcFiles.number(proc.text(Path.of("/proc/meminfo")), "MemAvailable", Long.MAX_VALUE >> 10) * 1024;
    }
}
