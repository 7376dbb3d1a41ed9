package io.jenkins.plugins.preemptible.engine.move;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.WriteRequest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import io.jenkins.plugins.preemptible.engine.image.preserved.PreservedFiles;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;

/**
 * The folders that travel with a stage: its workspace, and the temporary one beside it with the steps' control folders.
 *
 * <ol>
 *   <li>{@link #pack} seals them into one archive, in the format of images: files, folders, links, hard links and FIFOs
 *       with their owners, modes, times, extended attributes and access lists. What changes meanwhile, until the archive is sealed, refuses the move.
 *   <li>Sockets stay behind: CRIU binds those that the stage holds anew, and a stale one would be in the way. A device,
 *       or what lies on another file system below, refuses the move.
 *   <li>{@link #unpack} makes each folder anew in a hidden one beside its place, and then exchanges them all with what was
 *       there before: see {@link FreshFolders}. No link on the way is followed.
 *   <li>{@link #removeHidden} deletes what an unpacking has left hidden whose process was killed.
 * </ol>
 *
 * At most 200,000 files. Blocking, and streaming: memory stays as
 * that of an image. The caller sees to it that nobody else uses the folders.
 */
public final class Luggage {

    private static final int S_IFMT = 0170000;
    private static final int S_IFSOCK = 0140000;

    private Luggage() {}

    /**
     * What was packed.
     *
     * @param contentBytes of all files
     * @param archiveBytes size of the archive
     * @param difference whether it refers to an earlier one for what did not change
     */
    public record Packed(long contentBytes, long archiveBytes, boolean difference) {}

    /**
     * Packs, unless the folders have more than that.
     *
     * @param folders the first is the workspace
     * @param excludes what of the workspace stays behind
     * @param mostBytes of the files' contents as they are just before
     * @throws MoveRefusedException {@link MoveObstacle#WORKSPACE_TOO_LARGE}, besides those of {@link #pack(StageId, List,
     *     Path, ImageKey)}
     */
    public static Packed pack(
            StageId id, List<Path> folders, MoveExcludes excludes, Path archive, ImageKey key, long mostBytes)
            throws IOException {
        Predicate<Path> leftOut = path -> excludes.contain(folders.get(0), path);
        long bytes = 0;
        for (Path folder : folders) {
            bytes += bytesBelow(folder, mostBytes - bytes, leftOut);
        }
        if (bytes > mostBytes) {
            throw new MoveRefusedException(
                    new Misfit(
                            MoveObstacle.WORKSPACE_TOO_LARGE,
                            "more than " + (mostBytes >> 20) + " MiB may not be stored"),
                    null);
        }
        return pack(id, folders, Map.of(), leftOut, archive, key, UnaryOperator.identity());
    }

    /** Links are counted and not followed; ends when it is enough. */
    private static long bytesBelow(Path folder, long enough, Predicate<Path> leftOut) throws IOException {
        long[] bytes = {0};
        if (!Files.isDirectory(folder, LinkOption.NOFOLLOW_LINKS)) {
            return 0;
        }
        Files.walkFileTree(folder, new SimpleFileVisitor<>() {
            @Override
            public FileVisitResult preVisitDirectory(Path below, BasicFileAttributes is) {
                return leftOut.test(below) ? FileVisitResult.SKIP_SUBTREE : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFile(Path file, BasicFileAttributes is) {
                bytes[0] += is.isRegularFile() && !leftOut.test(file) ? is.size() : 0;
                return bytes[0] > enough ? FileVisitResult.TERMINATE : FileVisitResult.CONTINUE;
            }

            @Override
            public FileVisitResult visitFileFailed(Path file, IOException why) {
                // Whatever it is, packing finds it too.
                return FileVisitResult.CONTINUE;
            }
        });
        return bytes[0];
    }

    /**
     * Packs.
     *
     * @param folders absolute, none inside of another; one that does not exist is left out, a link refuses the move
     * @param archive in a folder that exists and that none of the folders holds; replaced when it exists
     * @throws MoveRefusedException {@link MoveObstacle#CHANGED_MEANWHILE}, {@link MoveObstacle#UNPACKABLE}, {@link
     *     MoveObstacle#DISK_FULL}; there is no such archive then
     * @throws IOException when a disk or a folder fails
     */
    public static Packed pack(StageId id, List<Path> folders, Path archive, ImageKey key) throws IOException {
        return pack(id, folders, Map.of(), path -> false, archive, key, UnaryOperator.identity());
    }

    /**
     * Packs copies of the folders, which {@link #unpack} puts where the folders were.
     *
     * @param copies by the folders that they are copies of
     * @param how what else is asked of the archive, such as {@link WriteRequest#apart}
     * @throws MoveRefusedException as above
     */
    public static Packed pack(
            StageId id,
            List<Path> folders,
            Map<Path, Path> copies,
            Path archive,
            ImageKey key,
            UnaryOperator<WriteRequest> how)
            throws IOException {
        return pack(id, folders, copies, path -> false, archive, key, how);
    }

    private static Packed pack(
            StageId id,
            List<Path> folders,
            Map<Path, Path> copies,
            Predicate<Path> leftOut,
            Path archive,
            ImageKey key,
            UnaryOperator<WriteRequest> how)
            throws IOException {
        Path label = Files.createTempDirectory(archive.toAbsolutePath().getParent(), "label");
        try {
            Files.writeString(label.resolve("stage"), id.value());
            ImageManifest manifest = new ImageManifest(
                    ImageManifest.FORMAT_VERSION,
                    id.value(),
                    null,
                    Instant.now().toString(),
                    null,
                    null,
                    null,
                    0,
                    0,
                    List.of());
            ImageArchive.Written written = ImageArchive.write(how.apply(WriteRequest.of(label, archive, key, manifest)
                    .preserving(folders)
                    .lying(copies)
                    .leavingOut(leftOut)
                    .unchanged(Luggage::isStepsLog)));
            String left = leftBehind(written.skipped(), folders);
            if (!left.isEmpty()) {
                Files.deleteIfExists(archive);
                throw new MoveRefusedException(new Misfit(MoveObstacle.UNPACKABLE, left), null);
            }
            return new Packed(written.allBytes(), written.archiveBytes(), written.difference());
        } catch (ImageException e) {
            throw refusal(e);
        } finally {
            StageFolder.delete(label);
        }
    }

    /** The controller touches it once a minute, so that Durable Task does not give the step up; nobody writes it. */
    private static boolean isStepsLog(Path path) {
        return path.getFileName().toString().equals("jenkins-log.txt")
                && path.getParent().getFileName().toString().startsWith("durable-");
    }

    private static String leftBehind(List<String> skipped, List<Path> folders) {
        return skipped.stream()
                .map(Path::of)
                .filter(path -> !folders.contains(path) && !isSocket(path))
                .map(Path::toString)
                .limit(3)
                .collect(Collectors.joining(", "));
    }

    private static boolean isSocket(Path path) {
        try {
            int mode = (int) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS);
            return (mode & S_IFMT) == S_IFSOCK;
        } catch (IOException e) {
            // Gone by now: whatever it was, the stage cannot have it open by that name.
            return true;
        }
    }

    /**
     * Unpacks. The archive is authenticated as a whole before the first folder is touched. What was in their places before is
     * gone then; a folder that the archive does not have is empty.
     *
     * @param home in which it is noted where something is made
     * @param folders those that may come back, as {@link #pack} was told; no other one is ever written to
     * @param scratch a folder that does not exist yet, on the same disk; gone again afterwards
     * @throws MoveRefusedException {@link MoveObstacle#DISK_FULL}; the folders are as they were
     * @throws IOException when the archive is not what was packed for this stage, or a disk fails; likewise
     */
    public static void unpack(Path home, StageId id, List<Path> folders, Path archive, ImageKey key, Path scratch)
            throws IOException {
        unpack(home, id, folders, archive, key, scratch, Renames.KERNEL);
    }

    static void unpack(
            Path home, StageId id, List<Path> folders, Path archive, ImageKey key, Path scratch, Renames renames)
            throws IOException {
        try {
            ImageArchive.Unpacked unpacked =
                    ImageArchive.read(ReadRequest.of(archive, key).expecting(id.value(), 0, null), scratch);
            PreservedFiles preserved = unpacked.preserved();
            Map<Path, Path> brought = preserved.places(folders);
            try (FreshFolders fresh =
                    FreshFolders.begin(home, id, brought.values(), others(folders, brought), renames)) {
                preserved.makeIn(fresh.hidden(), HiddenFolders.NEW);
                fresh.swap();
            }
        } catch (ImageException e) {
            throw refusal(e);
        } finally {
            StageFolder.delete(scratch);
        }
    }

    /** The places of those that were not there when it was packed. */
    private static List<Path> others(List<Path> folders, Map<Path, Path> brought) {
        return folders.stream()
                .filter(folder -> !brought.containsKey(folder))
                .map(Path::normalize)
                // The links on the way were resolved when it was packed.
                .map(folder -> brought.entrySet().stream()
                        .filter(each -> folder.getParent()
                                .equals(each.getKey().normalize().getParent()))
                        .map(each -> each.getValue().resolveSibling(folder.getFileName()))
                        .findFirst()
                        .orElse(folder))
                .toList();
    }

    /**
     * Has deleted what an {@link #unpack} of this stage has left hidden here, in the background, and forgets where it was then.
     * One that is under way, in any process, changes nothing any more once this has returned. No workspace has to be leased for
     * it: what is in the folders' places stays, of a later build too.
     *
     * @param gone is called when nothing is left, by this thread or another one; not where something cannot be deleted, which
     *     stays {@link #isNoted noted} to be tried again, nor when this or an {@link #unpack} is called again meanwhile
     */
    public static void removeHidden(Path home, StageId id, Runnable gone) {
        FreshFolders.remove(home, id, gone);
    }

    /** Whether {@link #removeHidden} may have something to do. */
    public static boolean isNoted(Path home, StageId id) {
        return FreshFolders.isNoted(home, id);
    }

    private static IOException refusal(ImageException e) {
        MoveObstacle obstacle =
                switch (e.reason()) {
                    case CHANGED_MEANWHILE -> MoveObstacle.CHANGED_MEANWHILE;
                    case NO_SPACE -> MoveObstacle.DISK_FULL;
                    case TOO_LARGE, UNSAFE_ENTRY -> MoveObstacle.UNPACKABLE;
                    default -> null;
                };
        return obstacle == null ? e : new MoveRefusedException(new Misfit(obstacle, e.finding()), e);
    }
}
