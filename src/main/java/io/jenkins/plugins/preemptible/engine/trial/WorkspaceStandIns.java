package io.jenkins.plugins.preemptible.engine.trial;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import io.jenkins.plugins.preemptible.engine.content.FileKind;
import io.jenkins.plugins.preemptible.engine.content.ImageContent;
import io.jenkins.plugins.preemptible.engine.content.SocketContent;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.FileEntry;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.RegularFile;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import io.jenkins.plugins.preemptible.engine.image.preserved.OpenFolder;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Empty files in the place of the stage's own ones, for a trial on a host that has no workspace of it yet.
 *
 * <ol>
 *   <li>CRIU compares kind, mode and size, and of programs the build id. The image has the first three, so that what it
 *       names below the workspace is made from them; the build ids there are taken out of the trial's image.
 *   <li>So the trial tells nothing of the workspace. It need not: the workspace is packed while the stage is frozen, and
 *       is unpacked as it was.
 *   <li>What the host has at that place now stays, and is not seen by the trial.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code criu/files-reg.c}, {@code validate_file} and {@code open_path}; {@code images/regfile.proto}.
 *
 * @param trees folders with stand-ins, by the folders of the workspace that they are laid over
 */
record WorkspaceStandIns(Map<Path, Path> trees) {

    static final WorkspaceStandIns NONE = new WorkspaceStandIns(Map.of());

    private static final int S_IFMT = 0170000;
    private static final int S_IFREG = 0100000;
    private static final int S_IFDIR = 0040000;
    private static final int S_IFIFO = 0010000;

    /**
     * Makes them, and changes the image's list of files.
     *
     * @param images for this trial alone
     * @param roots absolute, none inside of another
     * @param folder a folder that does not exist yet
     */
    static WorkspaceStandIns make(Path images, ImageContent content, List<Path> roots, Path folder) throws IOException {
        Files.createDirectory(folder);
        if (roots.isEmpty()) {
            return NONE;
        }
        Map<Path, Path> trees = new LinkedHashMap<>();
        for (Path root : roots) {
            trees.put(root, Files.createDirectory(folder.resolve(Integer.toString(trees.size()))));
        }
        WorkspaceStandIns standIns = new WorkspaceStandIns(trees);
        Set<Long> deleted = content.deletedFiles().stream()
                .map(ImageContent.DeletedFile::fileId)
                .collect(Collectors.toSet());
        Path list = images.resolve("files.img");
        ImageFile files = ImageFile.parse("files.img", Files.readAllBytes(list));
        List<UnknownFieldSet> entries = new ArrayList<>();
        for (UnknownFieldSet entry : files.entries()) {
            UnknownFieldSet.Builder next = entry.toBuilder().clearField(FileEntry.REGULAR_FILE);
            for (ByteString each : entry.getField(FileEntry.REGULAR_FILE).getLengthDelimitedList()) {
                UnknownFieldSet file = UnknownFieldSet.parseFrom(each);
                String name = text(file);
                if (standIns.holds(name)) {
                    if (!deleted.contains(ImageFile.number(entry, FileEntry.ID))) {
                        standIns.add(Path.of(name), file);
                    }
                    file = file.toBuilder().clearField(RegularFile.BUILD_ID).build();
                }
                next.mergeField(
                        FileEntry.REGULAR_FILE,
                        UnknownFieldSet.Field.newBuilder()
                                .addLengthDelimited(file.toByteString())
                                .build());
            }
            entries.add(next.build());
        }
        for (SocketContent socket : content.sockets()) {
            if (socket.kind() == FileKind.UNIX_SOCKET && standIns.holds(socket.local())) {
                Files.createDirectories(standIns.at(Path.of(socket.local())).getParent());
            }
        }
        Files.write(list, files.withEntries(entries).bytes());
        return standIns;
    }

    private static String text(UnknownFieldSet file) {
        return file.getField(RegularFile.NAME).getLengthDelimitedList().stream()
                .map(ByteString::toStringUtf8)
                .findFirst()
                .orElse("");
    }

    /** Whether a path lies in the workspace, or is it. */
    boolean holds(String name) {
        return name.startsWith("/")
                && trees.keySet().stream().anyMatch(Path.of(name).normalize()::startsWith);
    }

    /** Whether one of CRIU's lines is about a file there; it leaves out the first slash now and then. */
    boolean isNamedBy(String line) {
        return trees.keySet().stream()
                .anyMatch(root -> line.contains(root.toString().substring(1)));
    }

    private Path at(Path name) {
        Path path = name.normalize();
        Path root = trees.keySet().stream().filter(path::startsWith).findFirst().orElseThrow();
        return trees.get(root).resolve(root.relativize(path));
    }

    private void add(Path name, UnknownFieldSet file) throws IOException {
        Path path = at(name);
        long size = ImageFile.number(file, RegularFile.SIZE);
        int mode = (int) ImageFile.number(file, RegularFile.MODE);
        switch (mode & S_IFMT) {
            case S_IFDIR -> Files.createDirectories(path);
            case S_IFIFO -> {
                Files.createDirectories(path.getParent());
                try (OpenFolder folder = OpenFolder.of(path.getParent())) {
                    if (!Files.exists(path, LinkOption.NOFOLLOW_LINKS)) {
                        folder.makeFifo(path.getFileName().toString(), mode & 07777, -1, -1);
                    }
                }
                return;
            }
            case S_IFREG -> {
                Files.createDirectories(path.getParent());
                try (RandomAccessFile made = new RandomAccessFile(path.toFile(), "rw")) {
                    // One that is appended to has no size there, but may have one under another id.
                    made.setLength(Math.max(size, made.length()));
                }
            }
            default -> {
                return;
            }
        }
        Files.setAttribute(path, "unix:mode", mode & 07777);
    }

    /** The words for {@code trial.sh}: how many, then for each the number of its tree and its place in the trial. */
    List<String> words(TrialMounts mounts) throws UntriableException {
        List<String> words = new ArrayList<>();
        for (Map.Entry<Path, Path> each : trees.entrySet()) {
            String at = mounts.inOverlay(each.getKey().toString()).orElse(null);
            if (at != null) {
                words.add(each.getValue().getFileName().toString());
                words.add(at);
            } else if (!isEmpty(each.getValue())) {
                throw new UntriableException("nothing can stand in for the files in " + each.getKey());
            }
        }
        words.add(0, Integer.toString(words.size() / 2));
        return words;
    }

    private static boolean isEmpty(Path folder) throws UntriableException {
        try (var all = Files.list(folder)) {
            return all.findAny().isEmpty();
        } catch (IOException e) {
            throw new UntriableException(e.toString());
        }
    }
}
