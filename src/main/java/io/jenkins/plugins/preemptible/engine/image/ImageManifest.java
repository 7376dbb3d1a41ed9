package io.jenkins.plugins.preemptible.engine.image;

import com.fasterxml.jackson.annotation.JsonIgnore;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.annotation.JsonNaming;
import java.util.List;
import java.util.Map;

/**
 * What an image says of itself: which stage it holds, when and where it was taken, and what is in it.
 *
 * <ol>
 *   <li>The engine fills it after the dump; the archive puts it first, as JSON with snake_case names.
 *   <li>What depends on the files is measured and set by {@code ImageArchive.write}; values of the caller are replaced.
 *   <li>It is read back only from an authenticated archive, so its fields may be believed.
 * </ol>
 *
 * @param formatVersion {@link #FORMAT_VERSION} when written by this version
 * @param imageId 128 random bits in hexadecimal, another one for each image
 * @param stageId the stage's id
 * @param name the stage's name for people; may be null
 * @param suspension which suspension of the stage this is, from 1; 0 when unknown
 * @param createdAt ISO-8601 instant, UTC
 * @param criuVersion of the CRIU that dumped it
 * @param kernel release of the kernel it ran on
 * @param arch of the machine it ran on, as {@code uname -m} says
 * @param host what of its host it depends on; null when unknown
 * @param timings what the suspension took until its files were written; null when unknown
 * @param processes number of processes in the tree
 * @param imageBytes bytes of all image files before compression, those in the parent included
 * @param tree the processes, in order of pid; empty when unknown
 * @param parent the full image that a difference refers to; null for a full image
 * @param entries the contents, in the order in which they lie in the archive: image files, then preserved files
 * @param preservedRoots the declared paths, absolute, that were packed along
 * @param preserved what was found at and below them, folders before what is in them
 */
@JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
public record ImageManifest(
        int formatVersion,
        String imageId,
        String stageId,
        String name,
        int suspension,
        String createdAt,
        String criuVersion,
        String kernel,
        String arch,
        HostFingerprint host,
        Timings timings,
        int processes,
        long imageBytes,
        List<ProcessInfo> tree,
        Parent parent,
        List<EntryInfo> entries,
        List<String> preservedRoots,
        List<PreservedFile> preserved) {

    /** The format that this version writes, and the only one that it reads. */
    public static final int FORMAT_VERSION = 2;

    /**
     * One process of the dumped tree.
     *
     * @param pid as seen in the stage's own PID namespace
     * @param ppid likewise; 0 for its init
     * @param comm the kernel's short name
     * @param commandLine its arguments joined by blanks; empty for a zombie
     */
    @JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
    public record ProcessInfo(int pid, int ppid, String comm, String commandLine) {}

    /**
     * The engine's own times, in milliseconds of a monotonic clock. Packing cannot be among them: the manifest is the
     * archive's beginning.
     *
     * @param preflightMs the preflight, while the stage still ran
     * @param freezeMs until nothing of it moved
     * @param dumpMs CRIU's dump of the frozen tree
     * @param handover when its executor was given away: {@code AT_FREEZE} or {@code AFTER_DUMP}
     */
    @JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
    public record Timings(long preflightMs, long freezeMs, long dumpMs, String handover) {}

    /**
     * The full image that holds what did not change.
     *
     * @param imageId of its manifest
     * @param file name of its archive when the difference was written, to look for beside the difference
     */
    @JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
    public record Parent(String imageId, String file) {}

    /**
     * The content of one file.
     *
     * @param name of the image file, or {@code preserved/N} for the N-th of {@link #preserved}
     * @param bytes its size
     * @param sha256 its digest in hexadecimal: the SHA-256 over the SHA-256 of its blocks of 4096 bytes
     * @param runs of references that it is put together from; 0 when the archive holds all of it
     * @param stored bytes of it that lie in this archive, before compression
     */
    @JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
    public record EntryInfo(String name, long bytes, String sha256, int runs, long stored) {}

    /** What a preserved path is. */
    public enum Kind {
        FILE,
        FOLDER,
        SYMLINK,
        /** Another name of a file that comes earlier in the list. */
        HARDLINK,
        FIFO
    }

    /**
     * One file, folder or link at or below a preserved path.
     *
     * @param root index in {@link #preservedRoots}
     * @param path below the root, with slashes; empty for the root itself
     * @param mode its permissions, 0 to 07777
     * @param seconds of its last modification since 1970
     * @param nanos and the rest of that
     * @param link what a symbolic link says; of a hard link, the number of the first name in this list
     * @param attributes extended attributes and access lists: their values in Base64, by the kernel's names; null when there
     *     are none, or an earlier version did not look
     */
    @JsonNaming(PropertyNamingStrategies.SnakeCaseStrategy.class)
    public record PreservedFile(
            int root,
            String path,
            Kind kind,
            int mode,
            int uid,
            int gid,
            long seconds,
            int nanos,
            String link,
            Map<String, String> attributes) {

        /** Of one without attributes. */
        public PreservedFile(
                int root, String path, Kind kind, int mode, int uid, int gid, long seconds, int nanos, String link) {
            this(root, path, kind, mode, uid, gid, seconds, nanos, link, null);
        }
    }

    public ImageManifest {
        tree = tree == null ? List.of() : List.copyOf(tree);
        entries = entries == null ? List.of() : List.copyOf(entries);
        preservedRoots = preservedRoots == null ? List.of() : List.copyOf(preservedRoots);
        preserved = preserved == null ? List.of() : List.copyOf(preserved);
    }

    /** What the engine knows; see the record's own parameters. */
    public ImageManifest(
            int formatVersion,
            String stageId,
            String name,
            String createdAt,
            String criuVersion,
            String kernel,
            String arch,
            int processes,
            long imageBytes,
            List<ProcessInfo> tree) {
        this(
                formatVersion,
                null,
                stageId,
                name,
                0,
                createdAt,
                criuVersion,
                kernel,
                arch,
                null,
                null,
                processes,
                imageBytes,
                tree,
                null,
                null,
                null,
                null);
    }

    /** The same of a known suspension on a known host. */
    public ImageManifest with(int suspensionNumber, HostFingerprint hostFingerprint) {
        return new ImageManifest(
                formatVersion,
                imageId,
                stageId,
                name,
                suspensionNumber,
                createdAt,
                criuVersion,
                kernel,
                arch,
                hostFingerprint,
                timings,
                processes,
                imageBytes,
                tree,
                parent,
                entries,
                preservedRoots,
                preserved);
    }

    /** The same with times that are known only after the dump. */
    public ImageManifest with(Timings measured) {
        return new ImageManifest(
                formatVersion,
                imageId,
                stageId,
                name,
                suspension,
                createdAt,
                criuVersion,
                kernel,
                arch,
                host,
                measured,
                processes,
                imageBytes,
                tree,
                parent,
                entries,
                preservedRoots,
                preserved);
    }

    /** Whether it needs another image to be restored. */
    @JsonIgnore
    public boolean isDifference() {
        return parent != null;
    }

    /** Bytes of everything in this archive, before compression; the rest of a difference is in its parent. */
    @JsonIgnore
    public long storedBytes() {
        return entries.stream().mapToLong(EntryInfo::stored).sum();
    }

    /** Bytes of everything that restoring writes to a disk. */
    @JsonIgnore
    public long allBytes() {
        return entries.stream().mapToLong(EntryInfo::bytes).sum();
    }

    public ImageManifest sealed(
            String id,
            Parent sealedParent,
            List<EntryInfo> sealedEntries,
            List<String> roots,
            List<PreservedFile> preservedFiles) {
        long bytes = sealedEntries.stream()
                .filter(e -> !e.name().startsWith(ArchiveFormat.PRESERVED))
                .mapToLong(EntryInfo::bytes)
                .sum();
        return new ImageManifest(
                FORMAT_VERSION,
                id,
                stageId,
                name,
                suspension,
                createdAt,
                criuVersion,
                kernel,
                arch,
                host,
                timings,
                processes,
                bytes,
                tree,
                sealedParent,
                sealedEntries,
                roots,
                preservedFiles);
    }
}
