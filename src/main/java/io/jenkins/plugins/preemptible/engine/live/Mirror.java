package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.image.preserved.OpenFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.InvalidPathException;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;

/**
 * A copy of folders that is brought up to date pass by pass.
 *
 * <ol>
 *   <li>The first passes run while the stage runs, so the last one, while the stage stands still, has little to do.
 *   <li>A file is copied again when its inode, size, times, owner or mode differ from what they were before it was
 *       copied. So is one that had changed since two seconds before that pass: a second change may have had the same time.
 *   <li>A file that the stage writes to as memory may change without a new time; the caller names those.
 *   <li>Sockets are left out. A device, what lies on another file system, or a name that Java cannot say refuses the
 *       checkpoint.
 * </ol>
 *
 * Both the folders and their copies are gone through by open descriptors, so no link leads elsewhere, at whatever moment it
 * appears. What changes its kind is removed from the copy, with all below it, before anything takes its place. For one
 * thread at a time.
 */
final class Mirror {

    private static final int S_IFMT = 0170000;
    private static final int S_IFSOCK = 0140000;
    private static final int S_IFREG = 0100000;
    private static final int S_IFDIR = 0040000;
    private static final int S_IFLNK = 0120000;
    private static final int S_IFIFO = 0010000;
    private static final Duration SAME_TIME = Duration.ofSeconds(2);
    private static final int MOST_FILES = 200_000;
    /** So often a file is tried that is replaced while it is copied. */
    private static final int MOST_TRIES = 5;
    /** So often a cancellation is asked for. */
    private static final long ASK_NANOS = Duration.ofMillis(20).toNanos();

    private final Path place;
    private final List<Path> folders;
    private final Path leftOut;
    private final long largest;
    private final BooleanSupplier cancelled;
    private final Room room;
    private Map<String, Node> known = new HashMap<>();
    private volatile boolean whole = true;
    private Map<Object, Spot> firstNames = new HashMap<>();
    private Set<Object> copiedInodes = new HashSet<>();
    private Set<Long> again = Set.of();
    private BooleanSupplier late;
    private FileTime lately;
    private long asked;
    private long most;
    private long copied;
    private long total;
    private int count;

    /**
     * What is in the copy.
     *
     * @param young whether it had changed just before, or since the pass began
     * @param data bytes of a plain file, without holes; 0 for its second name
     * @param attributes of a folder, which it is given at last
     * @param content of a folder
     */
    private record Node(
            Map<String, Object> is,
            boolean young,
            long data,
            Map<String, byte[]> attributes,
            Map<String, Node> content) {
        int type() {
            return type(is);
        }

        static int type(Map<String, Object> is) {
            return (int) is.get("mode") & S_IFMT;
        }

        long allData() {
            return data + content.values().stream().mapToLong(Node::allData).sum();
        }
    }

    /** A name in an open folder, and the path that it had. */
    private record Spot(OpenFolder folder, String name, Path shown) {
        Path path() {
            return folder.at(name);
        }

        Spot below(OpenFolder opened, String child) {
            return new Spot(opened, child, shown.resolve(child));
        }
    }

    /**
     * @param place an empty folder for its owner only
     * @param folders absolute; one that does not exist is left out
     * @param leftOut absolute; nothing of it is copied
     * @param largest how many bytes all files may have
     * @param floorBytes that stay free on the disk of {@code place}
     */
    Mirror(Path place, List<Path> folders, Path leftOut, long largest, long floorBytes, BooleanSupplier cancelled)
            throws IOException {
        this.place = place.toRealPath();
        this.folders = folders;
        this.leftOut = leftOut;
        this.largest = largest;
        this.cancelled = cancelled;
        this.room = Room.of(place, floorBytes);
    }

    /** The copies, by the folders that they are copies of. */
    Map<Path, Path> copies() {
        Map<Path, Path> all = new HashMap<>();
        for (int i = 0; i < folders.size(); i++) {
            all.put(folders.get(i), place.resolve(Integer.toString(i)));
        }
        return all;
    }

    /** Bytes of all files in the copy, without their holes. */
    long bytes() {
        return known.values().stream().mapToLong(Node::allData).sum();
    }

    /**
     * Brings the copy up to date.
     *
     * @param written inodes of files that are copied in any case
     * @param mostBytes that may be copied
     * @param tooLate asked at each file; the pass is given up then
     * @return how many bytes were copied
     * @throws SuspendFailedException {@link FailureReason#STOP_TOO_LONG}, {@link FailureReason#NO_SPACE}, {@link
     *     FailureReason#UNPACKABLE_FILES}, {@link FailureReason#GOES_ON} when it was cancelled; the copy is of no use then
     */
    long pass(Set<Long> written, long mostBytes, BooleanSupplier tooLate) throws IOException {
        firstNames = new HashMap<>();
        copiedInodes = new HashSet<>();
        again = written;
        late = tooLate;
        lately = FileTime.from(Instant.now().minus(SAME_TIME));
        most = mostBytes;
        copied = 0;
        total = 0;
        count = 0;
        whole = false;
        Map<String, Node> seen = new HashMap<>();
        try (OpenFolder copies = OpenFolder.of(place)) {
            for (int i = 0; i < folders.size(); i++) {
                Spot copy = new Spot(copies, Integer.toString(i), place.resolve(Integer.toString(i)));
                keep(addRoot(folders.get(i), copy), copy, seen, known);
            }
        }
        known = seen;
        whole = true;
        return copied;
    }

    /** Whether the last pass came to its end: what another one leaves is no copy, and none can be made of it. */
    boolean isWhole() {
        return whole;
    }

    /** Notes what was added, or removes what was there before. */
    private static void keep(Node added, Spot copy, Map<String, Node> seen, Map<String, Node> before)
            throws IOException {
        if (added != null) {
            seen.put(copy.name(), added);
        } else if (before.containsKey(copy.name())) {
            StageFolder.delete(copy.path());
        }
    }

    private Node addRoot(Path root, Spot copy) throws IOException {
        OpenFolder above;
        Path real;
        try {
            // Links on the way are the host's; from there on none is followed.
            real = root.getParent().toRealPath();
            above = OpenFolder.of(real);
        } catch (NoSuchFileException e) {
            return null;
        }
        try (above) {
            String name = root.getFileName().toString();
            return add(new Spot(above, name, real.resolve(name)), copy, known.get(copy.name()), null);
        }
    }

    /** @return null when nothing is there that is copied */
    private Node add(Spot from, Spot copy, Node before, Object device) throws IOException {
        if (from.shown().equals(leftOut)) {
            return null;
        }
        count++;
        Node was = before;
        for (int tries = 1; ; tries++) {
            ask(from.shown());
            OpenFolder opened = null;
            try {
                Map<String, Object> is = Files.readAttributes(from.path(), Traits.ASKED, LinkOption.NOFOLLOW_LINKS);
                if (Node.type(is) == S_IFSOCK) {
                    return null;
                }
                require(is, from.shown(), device);
                if (was != null && was.type() != Node.type(is)) {
                    StageFolder.delete(copy.path());
                    was = null;
                }
                if (Node.type(is) != S_IFDIR) {
                    return file(from, copy, was, is);
                }
                opened = from.folder().child(from.name());
            } catch (FileSystemException e) {
                StageFolder.delete(copy.path());
                was = null;
                if (!Files.exists(from.path(), LinkOption.NOFOLLOW_LINKS)) {
                    // It was removed meanwhile.
                    return null;
                }
                if (tries == MOST_TRIES) {
                    throw e;
                }
                continue;
            }
            try (OpenFolder folder = opened) {
                return folder(folder, from, copy, was, device);
            }
        }
    }

    private void require(Map<String, Object> is, Path shown, Object device) {
        boolean plain = Set.of(S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO).contains(Node.type(is));
        if (!plain || (device != null && !device.equals(is.get("dev")))) {
            throw new SuspendFailedException(FailureReason.UNPACKABLE_FILES, shown.toString());
        }
        if (count > MOST_FILES) {
            throw new SuspendFailedException(FailureReason.UNPACKABLE_FILES, "more than " + MOST_FILES + " files");
        }
    }

    private void ask(Path shown) {
        if (late.getAsBoolean()) {
            throw new SuspendFailedException(
                    FailureReason.STOP_TOO_LONG,
                    "its files could not be looked through in time: " + count + " up to " + shown);
        }
        long now = System.nanoTime();
        if (asked == 0 || now - asked > ASK_NANOS) {
            asked = now;
            if (cancelled.getAsBoolean()) {
                throw new SuspendFailedException(FailureReason.GOES_ON, null);
            }
        }
    }

    private boolean changedLately(Map<String, Object> is) {
        return lately.compareTo((FileTime) is.get("lastModifiedTime")) < 0
                || lately.compareTo((FileTime) is.get("ctime")) < 0;
    }

    private Node folder(OpenFolder opened, Spot from, Spot copy, Node before, Object device) throws IOException {
        Map<String, Object> is = Files.readAttributes(opened.itself(), Traits.ASKED);
        require(is, from.shown(), device);
        boolean same = before != null && before.is().equals(is) && !before.young();
        Map<String, byte[]> attributes = same ? before.attributes() : Traits.attributes(opened.itself());
        Map<String, Node> old = before == null ? Map.of() : before.content();
        Map<String, Node> content = new HashMap<>();
        if (before == null) {
            Files.createDirectory(copy.path());
        }
        try (OpenFolder copies = copy.folder().child(copy.name())) {
            Set<String> names = names(opened, from.shown());
            for (String gone : old.keySet()) {
                if (!names.contains(gone)) {
                    StageFolder.delete(copies.at(gone));
                }
            }
            for (String name : names) {
                Spot child = copy.below(copies, name);
                keep(add(from.below(opened, name), child, old.get(name), is.get("dev")), child, content, old);
            }
        }
        return new Node(is, changedLately(is), 0, attributes, content);
    }

    private static Set<String> names(OpenFolder folder, Path shown) throws IOException {
        Set<String> names = new HashSet<>();
        try (var content = Files.list(folder.itself())) {
            for (Path each : (Iterable<Path>) content::iterator) {
                requireSaid(each.getFileName(), shown);
                names.add(each.getFileName().toString());
            }
        }
        return names;
    }

    /** A name of other bytes than this JVM's character set has would be another one, or none, in the copy. */
    private static void requireSaid(Path name, Path shown) {
        boolean said;
        try {
            said = Path.of(name.toString()).equals(name);
        } catch (InvalidPathException e) {
            said = false;
        }
        if (!said) {
            throw new SuspendFailedException(
                    FailureReason.UNPACKABLE_FILES,
                    "the name " + name + " in " + shown
                            + " cannot be said in the character set of the agent's Java; rename it, or start the agent"
                            + " with LC_ALL=C.UTF-8");
        }
    }

    private Node file(Spot from, Spot copy, Node before, Map<String, Object> is) throws IOException {
        total += size(is);
        if (total > largest) {
            throw new SuspendFailedException(FailureReason.UNPACKABLE_FILES, "more than " + (largest >> 20) + " MiB");
        }
        Object inode = is.get("ino");
        // An inode's number counts on its own disk only, and one with a single name may have been used again.
        Object file = List.of(is.get("dev"), inode);
        Spot first = (int) is.get("nlink") > 1 ? firstNames.get(file) : null;
        boolean same = before != null && before.is().equals(is) && !before.young() && !again.contains(inode);
        if (same && (first == null || !copiedInodes.contains(file))) {
            note(file, is, copy);
            return before;
        }
        Files.deleteIfExists(copy.path());
        if (first != null) {
            try (OpenFolder folder = OpenFolder.of(first.shown().getParent())) {
                Files.createLink(copy.path(), folder.at(first.name()));
            }
            return node(is, 0);
        }
        copiedInodes.add(file);
        Node made = copy(from, copy, is);
        note(file, is, copy);
        return made;
    }

    private static long size(Map<String, Object> is) {
        return Node.type(is) == S_IFREG ? (long) is.get("size") : 0;
    }

    private void note(Object file, Map<String, Object> is, Spot copy) {
        if ((int) is.get("nlink") > 1) {
            firstNames.putIfAbsent(file, copy);
        }
    }

    private Node node(Map<String, Object> is, long data) {
        return new Node(is, changedLately(is), data, Map.of(), Map.of());
    }

    private Node copy(Spot from, Spot copy, Map<String, Object> is) throws IOException {
        switch (Node.type(is)) {
            case S_IFIFO:
                // Java's own copying would open it, and wait for its other end.
                copy.folder()
                        .makeFifo(copy.name(), (int) is.get("mode") & 07777, (int) is.get("uid"), (int) is.get("gid"));
                giveTime(copy, is);
                return node(is, 0);
            case S_IFLNK:
                Path target = Files.readSymbolicLink(from.path());
                requireSaid(target, from.shown());
                Files.createSymbolicLink(copy.path(), target);
                for (String owner : List.of("uid", "gid")) {
                    Files.setAttribute(copy.path(), "unix:" + owner, is.get(owner), LinkOption.NOFOLLOW_LINKS);
                }
                giveTime(copy, is);
                return node(is, 0);
            default:
                return plain(from, copy, is);
        }
    }

    /** Of a link or FIFO; all others are given theirs with their other traits. */
    private static void giveTime(Spot copy, Map<String, Object> is) throws IOException {
        Instant time = ((FileTime) is.get("lastModifiedTime")).toInstant();
        OpenFolder.setModified(copy.path(), time.getEpochSecond(), time.getNano());
    }

    private Node plain(Spot from, Spot copy, Map<String, Object> listed) throws IOException {
        try (PinnedFile file = PinnedFile.of(from.folder(), from.name())) {
            Map<String, Object> is = Files.readAttributes(file.itself(), Traits.ASKED);
            if (!listed.get("ino").equals(is.get("ino")) || Node.type(is) != S_IFREG) {
                throw new FileSystemException(from.shown().toString(), null, "was replaced while it was copied");
            }
            List<PinnedFile.Part> parts = file.parts(size(is));
            long data =
                    parts.stream().mapToLong(part -> part.to() - part.from()).sum();
            copied += data;
            if (copied > most) {
                throw new SuspendFailedException(
                        FailureReason.STOP_TOO_LONG,
                        "more than " + (most >> 20) + " MiB of files change at a time, such as " + from.shown());
            }
            if (data >= Room.STEP) {
                room.require(data);
            }
            try (PinnedFile made = PinnedFile.make(copy.folder(), copy.name())) {
                file.copyTo(made, parts, size(is), piece -> {
                    ask(from.shown());
                    room.take(piece);
                });
                Traits.give(made.itself(), is, Traits.attributes(file.itself()), from.shown());
            }
            return node(is, data);
        }
    }

    /** Gives the copies of folders what only now stays theirs. After the last pass. */
    void finish() throws IOException {
        try (OpenFolder copies = OpenFolder.of(place)) {
            for (Map.Entry<String, Node> each : known.entrySet()) {
                finish(copies, each.getKey(), each.getValue(), place.resolve(each.getKey()));
            }
        }
    }

    private static void finish(OpenFolder above, String name, Node node, Path shown) throws IOException {
        if (node.type() == S_IFDIR) {
            try (OpenFolder folder = above.child(name)) {
                for (Map.Entry<String, Node> each : node.content().entrySet()) {
                    finish(folder, each.getKey(), each.getValue(), shown.resolve(each.getKey()));
                }
                Traits.give(folder.itself(), node.is(), node.attributes(), shown);
            }
        }
    }
}
