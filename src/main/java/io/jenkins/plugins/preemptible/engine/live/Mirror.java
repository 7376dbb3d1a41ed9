package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.image.preserved.OpenFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.BasicFileAttributeView;
import java.nio.file.attribute.FileTime;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
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
 *       copied. So is one that had changed within two seconds before: a second change may have had the same time.
 *   <li>A file that the stage writes to as memory may change without a new time; the caller names those.
 *   <li>Sockets are left out. A device, or what lies on another file system, refuses the checkpoint.
 * </ol>
 *
 * Folders are gone through by open descriptors, so no link leads elsewhere. For one thread at a time.
 */
final class Mirror {

    private static final String ATTRIBUTES = "unix:mode,uid,gid,dev,ino,nlink,size,lastModifiedTime,ctime";
    private static final int S_IFMT = 0170000;
    private static final int S_IFSOCK = 0140000;
    private static final int S_IFREG = 0100000;
    private static final int S_IFDIR = 0040000;
    private static final int S_IFLNK = 0120000;
    private static final int S_IFIFO = 0010000;
    private static final Duration SAME_TIME = Duration.ofSeconds(2);
    private static final int MOST_FILES = 200_000;
    /** After so many bytes the disk's free room is asked again. */
    private static final long ROOM_STEP = 64L << 20;

    private final Path place;
    private final List<Path> folders;
    private final Path leftOut;
    private final long largest;
    private final long floorBytes;
    private final BooleanSupplier cancelled;
    private Map<Path, Entry> known = new HashMap<>();
    private Map<Path, Entry> seen = new HashMap<>();
    private Map<Object, Path> firstNames = new HashMap<>();
    private Set<Object> copiedInodes = new HashSet<>();
    private Set<Long> again = Set.of();
    private long most;
    private long copied;
    private long total;
    private long unasked;

    private record Entry(Map<String, Object> is, boolean young) {
        int type() {
            return (int) is.get("mode") & S_IFMT;
        }

        long size() {
            return type() == S_IFREG ? (long) is.get("size") : 0;
        }
    }

    /**
     * @param place an empty folder for its owner only
     * @param folders absolute; one that does not exist is left out
     * @param leftOut absolute; nothing of it is copied
     * @param largest how many bytes all files may have
     * @param floorBytes that stay free on the disk of {@code place}
     */
    Mirror(Path place, List<Path> folders, Path leftOut, long largest, long floorBytes, BooleanSupplier cancelled) {
        this.place = place;
        this.folders = folders;
        this.leftOut = leftOut;
        this.largest = largest;
        this.floorBytes = floorBytes;
        this.cancelled = cancelled;
    }

    /** The copies, by the folders that they are copies of. */
    Map<Path, Path> copies() {
        Map<Path, Path> all = new HashMap<>();
        for (int i = 0; i < folders.size(); i++) {
            all.put(folders.get(i), place.resolve(Integer.toString(i)));
        }
        return all;
    }

    /** Bytes of all files in the copy. */
    long bytes() {
        return known.values().stream().mapToLong(Entry::size).sum();
    }

    /**
     * Brings the copy up to date.
     *
     * @param written inodes of files that are copied in any case
     * @param mostBytes that may be copied
     * @return how many bytes were copied
     * @throws SuspendFailedException {@link FailureReason#STOP_TOO_LONG}, {@link FailureReason#NO_SPACE}, {@link
     *     FailureReason#UNPACKABLE_FILES}, {@link FailureReason#GOES_ON} when it was cancelled
     */
    long pass(Set<Long> written, long mostBytes) throws IOException {
        seen = new HashMap<>();
        firstNames = new HashMap<>();
        copiedInodes = new HashSet<>();
        again = written;
        most = mostBytes;
        copied = 0;
        total = 0;
        for (int i = 0; i < folders.size(); i++) {
            Path root = folders.get(i);
            try {
                // Links on the way are the host's; from there on none is followed.
                Path real = root.getParent().toRealPath();
                try (OpenFolder above = OpenFolder.of(real)) {
                    String name = root.getFileName().toString();
                    add(above, name, real.resolve(name), place.resolve(Integer.toString(i)), null);
                }
            } catch (NoSuchFileException e) {
                // Left out.
            }
        }
        List<Path> gone = new ArrayList<>(known.keySet());
        gone.removeAll(seen.keySet());
        for (Path each : gone) {
            StageFolder.delete(each);
        }
        known = seen;
        return copied;
    }

    private void add(OpenFolder folder, String name, Path shown, Path copy, Object device) throws IOException {
        if (shown.equals(leftOut)) {
            return;
        }
        if (cancelled.getAsBoolean()) {
            throw new SuspendFailedException(FailureReason.GOES_ON, null);
        }
        Path path = folder.at(name);
        try {
            Map<String, Object> is = Files.readAttributes(path, ATTRIBUTES, LinkOption.NOFOLLOW_LINKS);
            Entry now = new Entry(is, changedLately(is));
            if (now.type() == S_IFSOCK) {
                return;
            }
            require(now, shown, device);
            Entry before = known.get(copy);
            if (before != null && before.type() != now.type()) {
                StageFolder.delete(copy);
                before = null;
            }
            if (now.type() == S_IFDIR) {
                addFolder(folder, name, shown, copy, now);
            } else {
                addFile(path, shown, copy, before, now);
            }
        } catch (NoSuchFileException e) {
            // It was removed meanwhile, which the next pass sees.
            seen.remove(copy);
        }
    }

    private void require(Entry now, Path shown, Object device) {
        boolean plain = Set.of(S_IFREG, S_IFDIR, S_IFLNK, S_IFIFO).contains(now.type());
        if (!plain || (device != null && !device.equals(now.is().get("dev")))) {
            throw new SuspendFailedException(FailureReason.UNPACKABLE_FILES, shown.toString());
        }
        if (seen.size() >= MOST_FILES) {
            throw new SuspendFailedException(FailureReason.UNPACKABLE_FILES, "more than " + MOST_FILES + " files");
        }
    }

    private static boolean changedLately(Map<String, Object> is) {
        FileTime lately = FileTime.from(Instant.now().minus(SAME_TIME));
        return lately.compareTo((FileTime) is.get("lastModifiedTime")) < 0
                || lately.compareTo((FileTime) is.get("ctime")) < 0;
    }

    private void addFolder(OpenFolder above, String name, Path shown, Path copy, Entry now) throws IOException {
        if (!Files.isDirectory(copy, LinkOption.NOFOLLOW_LINKS)) {
            Files.createDirectory(copy);
        }
        seen.put(copy, now);
        try (OpenFolder folder = above.child(name)) {
            List<Path> names;
            try (var content = Files.list(folder.itself())) {
                names = content.toList();
            }
            for (Path each : names) {
                String child = each.getFileName().toString();
                add(
                        folder,
                        child,
                        shown.resolve(child),
                        copy.resolve(child),
                        now.is().get("dev"));
            }
        }
    }

    private void addFile(Path path, Path shown, Path copy, Entry before, Entry now) throws IOException {
        total += now.size();
        if (total > largest) {
            throw new SuspendFailedException(FailureReason.UNPACKABLE_FILES, "more than " + (largest >> 20) + " MiB");
        }
        Object inode = now.is().get("ino");
        Path first = (int) now.is().get("nlink") > 1 ? firstNames.putIfAbsent(inode, copy) : null;
        boolean same = before != null && before.is().equals(now.is()) && !before.young() && !again.contains(inode);
        if (first == null ? !same : !same || copiedInodes.contains(inode)) {
            Files.deleteIfExists(copy);
            if (first != null) {
                Files.createLink(copy, first);
            } else if (now.type() == S_IFIFO) {
                // Java's own copying would open it, and wait for its other end.
                copiedInodes.add(inode);
                makeFifo(copy, now);
            } else {
                copiedInodes.add(inode);
                requireRoom(now, shown);
                Files.copy(path, copy, StandardCopyOption.COPY_ATTRIBUTES, LinkOption.NOFOLLOW_LINKS);
            }
        }
        seen.put(copy, now);
    }

    private static void makeFifo(Path copy, Entry now) throws IOException {
        try (OpenFolder folder = OpenFolder.of(copy.getParent().toRealPath())) {
            folder.makeFifo(
                    copy.getFileName().toString(),
                    (int) now.is().get("mode") & 07777,
                    (int) now.is().get("uid"),
                    (int) now.is().get("gid"));
        }
    }

    private void requireRoom(Entry now, Path shown) throws IOException {
        copied += now.size();
        unasked += now.size();
        if (copied > most) {
            throw new SuspendFailedException(
                    FailureReason.STOP_TOO_LONG,
                    "more than " + (most >> 20) + " MiB of files change at a time, such as " + shown);
        }
        if (unasked >= ROOM_STEP) {
            long free = Files.getFileStore(place).getUsableSpace();
            if (free - now.size() < floorBytes) {
                throw new SuspendFailedException(
                        FailureReason.NO_SPACE,
                        "to copy the stage's files into " + place + ": free are " + (free >> 20) + " MB");
            }
            unasked = 0;
        }
    }

    /** Gives all copies the times of what they are copies of. After the last pass. */
    void finish() throws IOException {
        List<Path> deepestFirst = new ArrayList<>(known.keySet());
        deepestFirst.sort(Comparator.reverseOrder());
        for (Path copy : deepestFirst) {
            Entry entry = known.get(copy);
            if (entry.type() == S_IFDIR) {
                Files.setAttribute(copy, "unix:uid", entry.is().get("uid"));
                Files.setAttribute(copy, "unix:gid", entry.is().get("gid"));
                Files.setAttribute(copy, "unix:mode", (int) entry.is().get("mode") & 07777);
            }
            if (entry.type() == S_IFDIR || entry.type() == S_IFREG) {
                Files.getFileAttributeView(copy, BasicFileAttributeView.class, LinkOption.NOFOLLOW_LINKS)
                        .setTimes((FileTime) entry.is().get("lastModifiedTime"), null, null);
            }
        }
    }
}
