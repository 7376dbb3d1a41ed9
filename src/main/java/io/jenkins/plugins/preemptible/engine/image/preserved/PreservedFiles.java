package io.jenkins.plugins.preemptible.engine.image.preserved;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.TARGET_IN_USE;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.UNSAFE_ENTRY;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.EntryInfo;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.Kind;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.PreservedFile;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import io.jenkins.plugins.preemptible.engine.image.block.SparseWrite;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Puts the preserved files of an unpacked image back where they were.
 *
 * <ol>
 *   <li>What is missing or differs becomes what was sealed: content, kind, and what {@link FileTraits} gives. A file is
 *       replaced as a whole, by a rename, so no process sees half of it.
 *   <li>What is there and was not sealed is left alone; a folder that is in the way of a file is not removed.
 *   <li>The way down to each file is opened without following links, so nothing is written elsewhere.
 * </ol>
 *
 * A file whose content is right already keeps its inode. When it fails half way, what was put back stays: it is what
 * the stage had. For one thread.
 */
public final class PreservedFiles {

    private static final String TEMPORARY = ".preempt-put-back-";

    private final ImageManifest manifest;
    private final Path unpacked;
    private final Map<String, EntryInfo> contents = new HashMap<>();
    /** Where the roots are made that do not go straight to their places. */
    private final Map<String, OpenFolder> apart = new HashMap<>();

    private String nameApart;
    private boolean byRename;

    public PreservedFiles(ImageManifest manifest, Path unpacked) {
        this.manifest = manifest;
        this.unpacked = unpacked;
        manifest.entries().stream()
                .filter(e -> e.name().startsWith(ArchiveFormat.PRESERVED))
                .forEach(e -> contents.put(e.name(), e));
    }

    /** The declared paths that the image brings along. */
    public List<String> roots() {
        return manifest.preservedRoots();
    }

    /** Whether there is nothing to put back. */
    public boolean isEmpty() {
        return manifest.preserved().isEmpty();
    }

    /**
     * Puts everything back.
     *
     * @param allowed the declared paths as the caller knows them; an image that brings others is refused before
     *     anything is written. Null to believe the image.
     * @return how many files, folders and links had to be made or changed
     * @throws ImageException UNSAFE_ENTRY for a path that is not allowed or a link on the way, TARGET_IN_USE for a
     *     folder where a file belongs, NO_SPACE, INPUT_OUTPUT
     */
    public int putBack(Collection<Path> allowed) throws ImageException {
        if (allowed != null) {
            places(allowed);
        }
        return putBackAll();
    }

    /**
     * Where the declared paths are that the image brings along: links on their way are resolved.
     *
     * @throws ImageException UNSAFE_ENTRY for an image that brings others
     */
    public Map<Path, Path> places(Collection<Path> allowed) throws ImageException {
        Map<Path, Path> places = new LinkedHashMap<>();
        for (String root : manifest.preservedRoots()) {
            Path declared = allowed.stream()
                    .filter(path -> isSame(path, Path.of(root)))
                    .findFirst()
                    .orElseThrow(() -> new ImageException(
                            UNSAFE_ENTRY, root, "it is not among the stage's preserved paths", null));
            places.put(declared, Path.of(root));
        }
        return places;
    }

    /**
     * Makes everything anew, each place under another name in a folder of its own. Once: what was unpacked is taken from
     * there, where that is the same file system.
     *
     * @param folders by all {@link #places}; nobody else may write there, and nothing has the name yet
     */
    public void makeIn(Map<Path, OpenFolder> folders, String name) throws ImageException {
        folders.forEach((place, folder) -> apart.put(place.toString(), folder));
        if (!apart.keySet().containsAll(manifest.preservedRoots())) {
            throw new IllegalArgumentException("a folder for each place is expected");
        }
        nameApart = name;
        byRename = true;
        putBackAll();
    }

    /** Whether a writer could have said what a manifest says of a file's extended attributes. */
    public static boolean hasSoundAttributes(PreservedFile file) {
        return file.attributes() == null
                || file.attributes().entrySet().stream().allMatch(FileTraits::isSound);
    }

    private int putBackAll() throws ImageException {
        int changed = 0;
        for (int root = 0; root < manifest.preservedRoots().size(); root++) {
            changed += putBack(root, Path.of(manifest.preservedRoots().get(root)));
        }
        return changed;
    }

    // The sealed path had the links on its way resolved.
    private static boolean isSame(Path declared, Path sealed) {
        Path plain = declared.normalize();
        try {
            return plain.equals(sealed)
                    || plain.getParent() != null
                            && plain.getParent()
                                    .toRealPath()
                                    .resolve(plain.getFileName())
                                    .equals(sealed);
        } catch (IOException e) {
            return false;
        }
    }

    private int putBack(int root, Path path) throws ImageException {
        int changed = 0;
        String at = "";
        try (FolderStack stack = stack(path, true)) {
            for (int number = 0; number < manifest.preserved().size(); number++) {
                PreservedFile file = manifest.preserved().get(number);
                if (file.root() == root) {
                    at = file.path();
                    OpenFolder folder = stack.parentOf(at);
                    changed += put(folder, stack.nameOf(at), file, number) ? 1 : 0;
                }
            }
            // A folder's time changes with what is put into it, so it comes last; deepest first.
            for (int number = manifest.preserved().size() - 1; number >= 0; number--) {
                PreservedFile file = manifest.preserved().get(number);
                if (file.root() == root && file.kind() == Kind.FOLDER) {
                    at = file.path();
                    FileTraits.give(stack.parentOf(at).at(stack.nameOf(at)), file);
                }
            }
            return changed;
        } catch (ImageException e) {
            throw e;
        } catch (DirectoryNotEmptyException e) {
            throw new ImageException(TARGET_IN_USE, path.resolve(at), "a folder is where a file belongs", e);
        } catch (NoSuchFileException e) {
            throw ImageException.writeFailed(path.resolve(at), e);
        } catch (FileSystemException e) {
            if (ImageException.words(e).contains("link")) {
                throw new ImageException(UNSAFE_ENTRY, path.resolve(at), ImageException.words(e), e);
            }
            throw ImageException.writeFailed(path.resolve(at), e);
        } catch (IOException e) {
            throw ImageException.writeFailed(path.resolve(at), e);
        }
    }

    private FolderStack stack(Path root, boolean makeMissing) throws IOException {
        OpenFolder folder = apart.get(root.toString());
        return folder == null ? new FolderStack(root, makeMissing) : new FolderStack(folder, nameApart);
    }

    private boolean put(OpenFolder folder, String name, PreservedFile file, int number) throws IOException {
        Path path = folder.at(name);
        return switch (file.kind()) {
            case FOLDER -> putFolder(path);
            case FILE -> putFile(folder, path, file, number);
            case SYMLINK -> putSymlink(path, file);
            case HARDLINK -> putHardlink(path, file);
            case FIFO -> putFifo(folder, name, path, file);
        };
    }

    private static boolean putFolder(Path path) throws IOException {
        if (Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
            return false;
        }
        Files.deleteIfExists(path);
        Files.createDirectory(path, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        return true;
    }

    private boolean putFile(OpenFolder folder, Path path, PreservedFile file, int number) throws IOException {
        EntryInfo content = contents.get(ArchiveFormat.preservedName(number));
        if (isAsSealed(path, content)) {
            return FileTraits.give(path, file);
        }
        if (Files.isDirectory(path, LinkOption.NOFOLLOW_LINKS)) {
            Files.delete(path);
        }
        Path fresh = folder.at(TEMPORARY + manifest.imageId());
        Files.deleteIfExists(fresh);
        try {
            bring(content, fresh);
            FileTraits.give(fresh, file);
            Files.move(fresh, path, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            Files.deleteIfExists(fresh);
        }
        return true;
    }

    private void bring(EntryInfo content, Path fresh) throws IOException {
        if (byRename) {
            try {
                Files.move(unpacked.resolve(content.name()), fresh, StandardCopyOption.ATOMIC_MOVE);
                return;
            } catch (FileSystemException e) {
                // Another file system.
                byRename = false;
            }
        }
        copy(unpacked.resolve(content.name()), fresh, content);
    }

    private static boolean isAsSealed(Path path, EntryInfo content) throws IOException {
        if (!Files.isRegularFile(path, LinkOption.NOFOLLOW_LINKS)
                || Files.size(path) != content.bytes()
                // One of several names would take its new owner and mode to the others.
                || (int) Files.getAttribute(path, "unix:nlink", LinkOption.NOFOLLOW_LINKS) > 1) {
            return false;
        }
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS)) {
            BlockHash hash = new BlockHash();
            byte[] piece = new byte[(int) Math.min(ArchiveFormat.CHUNK, Math.max(1, content.bytes()))];
            for (long at = 0; at < content.bytes(); at += piece.length) {
                int length = (int) Math.min(piece.length, content.bytes() - at);
                Sources.read(channel, piece, length, at, path);
                hash.add(BlockHash.leaves(piece, length));
            }
            return ArchiveFormat.hex(hash.digest()).equals(content.sha256());
        } catch (ImageException e) {
            return false;
        }
    }

    private static void copy(Path from, Path to, EntryInfo content) throws IOException {
        try (FileChannel in = FileChannel.open(from, StandardOpenOption.READ);
                FileChannel out = FileChannel.open(
                        to,
                        Set.of(StandardOpenOption.WRITE, StandardOpenOption.CREATE_NEW),
                        PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")))) {
            byte[] piece = new byte[(int) Math.min(ArchiveFormat.CHUNK, Math.max(1, content.bytes()))];
            for (long at = 0; at < content.bytes(); at += piece.length) {
                int length = (int) Math.min(piece.length, content.bytes() - at);
                Sources.read(in, piece, length, at, from);
                SparseWrite.write(out, piece, 0, length, at, content.bytes());
            }
        }
    }

    private boolean putSymlink(Path path, PreservedFile file) throws IOException {
        if (Files.isSymbolicLink(path)
                && Files.readSymbolicLink(path).toString().equals(file.link())) {
            return FileTraits.give(path, file);
        }
        Files.deleteIfExists(path);
        Files.createSymbolicLink(path, Path.of(file.link()));
        FileTraits.give(path, file);
        return true;
    }

    private boolean putHardlink(Path path, PreservedFile file) throws IOException {
        PreservedFile first = manifest.preserved().get(Integer.parseInt(file.link()));
        try (FolderStack stack = stack(Path.of(manifest.preservedRoots().get(first.root())), false)) {
            Path other = stack.parentOf(first.path()).at(stack.nameOf(first.path()));
            if (Files.exists(path, LinkOption.NOFOLLOW_LINKS)
                    && PreservedScan.stateOf(path).equals(PreservedScan.stateOf(other))) {
                return false;
            }
            Files.deleteIfExists(path);
            Files.createLink(path, other);
            return true;
        }
    }

    private boolean putFifo(OpenFolder folder, String name, Path path, PreservedFile file) throws IOException {
        boolean there = Files.exists(path, LinkOption.NOFOLLOW_LINKS)
                && ((int) Files.getAttribute(path, "unix:mode", LinkOption.NOFOLLOW_LINKS) & 0170000) == 0010000;
        if (!there) {
            Files.deleteIfExists(path);
            folder.makeFifo(name, file.mode(), FileTraits.chowns() ? file.uid() : -1, file.gid());
        }
        return FileTraits.giveTime(path, file) || !there;
    }
}
