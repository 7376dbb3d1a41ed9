package io.jenkins.plugins.preemptible.engine.image.preserved;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.CHANGED_MEANWHILE;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.INPUT_OUTPUT;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.TOO_LARGE;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.UNSAFE_ENTRY;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.Kind;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.PreservedFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Predicate;
import java.util.stream.Stream;

/**
 * Lists what is at and below the preserved paths.
 *
 * <ol>
 *   <li>Folders are gone through by open descriptors, so a link that is put in the way leads nowhere else.
 *   <li>Files, folders, links and FIFOs are listed with owner, mode and time; sockets, devices and what lies on another
 *       file system below are left out and named as such.
 *   <li>The archive that is being written, and the image itself, are left out where they lie below.
 * </ol>
 */
public final class PreservedScan {

    private static final String ATTRIBUTES = "unix:mode,uid,gid,dev,ino,nlink,size,lastModifiedTime,ctime";
    private static final int S_IFMT = 0170000;

    private final Set<Path> leftOut;
    private final Predicate<Path> alsoLeftOut;
    private final List<String> roots = new ArrayList<>();
    private final List<Path> places = new ArrayList<>();
    private final List<PreservedFile> files = new ArrayList<>();
    private final List<State> states = new ArrayList<>();
    private final List<String> skipped = new ArrayList<>();
    private final Map<List<Object>, Integer> firstNames = new HashMap<>();

    /** What tells whether a file is still what it was. */
    record State(Object dev, Object ino, long size, FileTime modified, FileTime changed) {

        boolean isTouched(State before) {
            return dev.equals(before.dev) && ino.equals(before.ino) && size == before.size;
        }
    }

    /**
     * @param leftOut absolute paths of files and folders that are not packed, nor what is below them
     * @param also the same by a rule; null for none
     */
    public PreservedScan(Set<Path> leftOut, Predicate<Path> also) {
        this.leftOut = leftOut;
        this.alsoLeftOut = also == null ? path -> false : also;
    }

    public List<String> roots() {
        return roots;
    }

    /** Where that root lies now. */
    Path place(int root) {
        return places.get(root);
    }

    public List<PreservedFile> files() {
        return files;
    }

    State state(int number) {
        return states.get(number);
    }

    /** Paths that were found and not packed, for people. */
    public List<String> skipped() {
        return skipped;
    }

    /** Adds a declared path, which is no link itself; one that does not exist is named among the skipped. */
    public void add(Path declared) throws ImageException {
        add(declared, declared);
    }

    /** @param copy where it lies meanwhile */
    public void add(Path declared, Path copy) throws ImageException {
        Path root = declared.normalize();
        try {
            if (!root.isAbsolute() || root.getParent() == null) {
                throw new ImageException(UNSAFE_ENTRY, declared, "a preserved path is absolute and not '/'", null);
            }
            // Links on the way are the host's business and resolved once; from there on none is followed.
            root = root.getParent().toRealPath().resolve(root.getFileName());
            Path place =
                    copy.equals(declared) ? root : copy.getParent().toRealPath().resolve(copy.getFileName());
            if (!Files.exists(place, LinkOption.NOFOLLOW_LINKS)) {
                skipped.add(declared.toString());
                return;
            }
            if (Files.isSymbolicLink(place)) {
                // Only the link would be packed, and what it leads to be lost without a word.
                throw new ImageException(
                        UNSAFE_ENTRY, declared, "it is a link to " + Files.readSymbolicLink(place), null);
            }
            for (String other : roots) {
                if (root.startsWith(other) || Path.of(other).startsWith(root)) {
                    throw new ImageException(UNSAFE_ENTRY, declared, "it lies in, or holds, " + other, null);
                }
            }
            roots.add(text(root));
            places.add(place);
            try (OpenFolder above = OpenFolder.of(place.getParent())) {
                add(above, place.getFileName().toString(), place, "", null);
            }
        } catch (NoSuchFileException e) {
            skipped.add(declared.toString());
        } catch (ImageException e) {
            throw e;
        } catch (IOException e) {
            throw new ImageException(INPUT_OUTPUT, root, ImageException.words(e), e);
        }
    }

    private void add(OpenFolder folder, String name, Path shown, String below, Object device) throws IOException {
        if (leftOut.contains(shown) || alsoLeftOut.test(shown)) {
            return;
        }
        Path path = folder.at(name);
        Map<String, Object> is;
        try {
            is = Files.readAttributes(path, ATTRIBUTES, LinkOption.NOFOLLOW_LINKS);
        } catch (NoSuchFileException e) {
            return;
        }
        Kind kind = kind((int) is.get("mode") & S_IFMT);
        if (kind == null || (device != null && !device.equals(is.get("dev")))) {
            skipped.add(shown.toString());
            return;
        }
        String link = kind == Kind.SYMLINK ? text(Files.readSymbolicLink(path)) : null;
        List<Object> inode = List.of(is.get("dev"), is.get("ino"));
        if (kind == Kind.FILE && (int) is.get("nlink") > 1) {
            Integer first = firstNames.putIfAbsent(inode, files.size());
            if (first != null) {
                kind = Kind.HARDLINK;
                link = first.toString();
            }
        }
        boolean plain = kind == Kind.FILE || kind == Kind.FOLDER;
        list(is, kind, link, below, plain ? ExtendedAttributes.of(path) : null);
        if (kind == Kind.FOLDER) {
            try (OpenFolder child = folder.child(name)) {
                for (String each : names(child)) {
                    String path2 = below.isEmpty() ? each : below + "/" + each;
                    add(child, each, shown.resolve(each), path2, is.get("dev"));
                }
            }
        }
    }

    private void list(Map<String, Object> is, Kind kind, String link, String below, Map<String, String> attributes)
            throws ImageException {
        if (files.size() == ArchiveFormat.MOST_PRESERVED) {
            throw new ImageException(
                    TOO_LARGE,
                    roots.get(roots.size() - 1),
                    "more than " + ArchiveFormat.MOST_PRESERVED + " files",
                    null);
        }
        FileTime modified = (FileTime) is.get("lastModifiedTime");
        Instant instant = modified.toInstant();
        files.add(new PreservedFile(
                roots.size() - 1,
                below,
                kind,
                (int) is.get("mode") & 07777,
                (int) is.get("uid"),
                (int) is.get("gid"),
                instant.getEpochSecond(),
                instant.getNano(),
                link,
                attributes));
        states.add(
                new State(is.get("dev"), is.get("ino"), (long) is.get("size"), modified, (FileTime) is.get("ctime")));
    }

    /**
     * Looks at all of it again. What came, went or was renamed changes the folder's own times.
     *
     * @param touched paths whose time alone may have changed
     * @throws ImageException CHANGED_MEANWHILE, with the first path that is not what it was
     */
    public void checkUnchanged(Predicate<Path> touched) throws ImageException {
        for (int i = 0; i < files.size(); i++) {
            PreservedFile file = files.get(i);
            Path path = Path.of(roots.get(file.root()), file.path());
            State was = states.get(i);
            try {
                State is = stateOf(places.get(file.root()).resolve(file.path()));
                boolean same = touched.test(path) ? is.isTouched(was) : is.equals(was);
                if (!same) {
                    throw new ImageException(CHANGED_MEANWHILE, path, null, null);
                }
            } catch (ImageException e) {
                throw e;
            } catch (IOException e) {
                throw new ImageException(CHANGED_MEANWHILE, path, ImageException.words(e), e);
            }
        }
    }

    /** What a file is at this moment. */
    static State stateOf(Path path) throws IOException {
        Map<String, Object> is = Files.readAttributes(path, ATTRIBUTES, LinkOption.NOFOLLOW_LINKS);
        return new State(
                is.get("dev"), is.get("ino"), (long) is.get("size"), (FileTime) is.get("lastModifiedTime"), (FileTime)
                        is.get("ctime"));
    }

    private static Kind kind(int type) {
        return switch (type) {
            case 0100000 -> Kind.FILE;
            case 0040000 -> Kind.FOLDER;
            case 0120000 -> Kind.SYMLINK;
            case 0010000 -> Kind.FIFO;
            default -> null;
        };
    }

    private static List<String> names(OpenFolder folder) throws IOException {
        try (Stream<Path> content = Files.list(folder.itself())) {
            List<String> names = new ArrayList<>();
            for (Path each : (Iterable<Path>) content::iterator) {
                names.add(text(each.getFileName()));
            }
            names.sort(null);
            return names;
        }
    }

    // A JVM that runs under the C locale cannot say names beyond ASCII; packing them under another would lose them.
    private static String text(Path path) throws ImageException {
        String text = path.toString();
        try {
            if (Path.of(text).equals(path)) {
                return text;
            }
        } catch (InvalidPathException e) {
            // told below
        }
        throw new ImageException(
                UNSAFE_ENTRY,
                text,
                "its name cannot be said in this Java's character set; start it with LC_ALL=C.UTF-8",
                null);
    }
}
