package io.jenkins.plugins.preemptible.engine.image.preserved;

import java.io.Closeable;
import java.io.IOException;
import java.nio.charset.Charset;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import jnr.ffi.LibraryLoader;
import jnr.ffi.Runtime;
import jnr.ffi.annotations.In;

/**
 * A folder that was opened without following any link, and stays the same folder when its path changes.
 *
 * <ol>
 *   <li>{@link #of} goes down from the root folder name by name, each opened with {@code O_NOFOLLOW}; so a link that
 *       is put in the way, at any moment, is refused.
 *   <li>{@link #at} gives the path of a name in it through {@code /proc/self/fd}, which the kernel resolves from the
 *       open descriptor, as the {@code *at} calls of open(2) do: Java's own file methods so become safe.
 *   <li>Such a path holds one name; what is under the name is not followed as long as the caller says NOFOLLOW.
 * </ol>
 *
 * Linux only. For one thread. Sources: open(2), renameat2(2), utimensat(2), proc(5).
 */
public final class OpenFolder implements Closeable {

    private static final int O_RDONLY = 0;
    private static final int O_DIRECTORY = 0200000;
    private static final int O_NOFOLLOW = 0400000;
    private static final int O_PATH = 010000000;
    private static final int O_CLOEXEC = 02000000;
    private static final int AT_FDCWD = -100;
    private static final int AT_SYMLINK_NOFOLLOW = 0x100;
    /** Leaves the time of the last access as it is. */
    private static final long UTIME_OMIT = (1L << 30) - 2;
    /** renameat2(2) has a function in new C libraries only; by Java's name of the architecture. */
    private static final Map<String, Long> RENAMEAT2 = Map.of("amd64", 316L, "aarch64", 276L, "riscv64", 276L);

    private static final int RENAME_NOREPLACE = 1;
    private static final int RENAME_EXCHANGE = 2;
    private static final int ENOENT = 2;
    private static final int EEXIST = 17;
    private static final int EINVAL = 22;
    private static final int ENOSYS = 38;
    private static final int EOPNOTSUPP = 95;
    private static final int OF_OTHERS = 077;
    /** In which Java says names of files to the system. */
    private static final Charset NAMES = Charset.forName(System.getProperty("sun.jnu.encoding", "UTF-8"));

    /** The functions as the C library names them. */
    public interface Functions {
        int open(String path, int flags, int mode);

        int close(int descriptor);

        int mkfifo(String path, int mode);

        int utimensat(int folder, byte[] path, @In long[] times, int flags);

        int geteuid();

        long syscall(long number, long from, @In byte[] name, long to, @In byte[] other, long flags);
    }

    private static final class Bound {
        static final Functions C = LibraryLoader.create(Functions.class).load("c");
    }

    private final int descriptor;
    private final Path shown;

    private OpenFolder(int descriptor, Path shown) {
        this.descriptor = descriptor;
        this.shown = shown;
    }

    /** @param path absolute and normal; none of its names may be a link */
    public static OpenFolder of(Path path) throws IOException {
        return of(path, false);
    }

    /** The same; folders that are missing are made. */
    public static OpenFolder makeAll(Path path) throws IOException {
        return of(path, true);
    }

    private static OpenFolder of(Path path, boolean make) throws IOException {
        if (!path.isAbsolute() || !path.equals(path.normalize())) {
            throw new FileSystemException(path.toString(), null, "is no absolute, plain path");
        }
        OpenFolder folder = open("/", Path.of("/"));
        for (Path name : path) {
            OpenFolder parent = folder;
            try {
                if (make && !Files.exists(parent.at(name.toString()), LinkOption.NOFOLLOW_LINKS)) {
                    Files.createDirectory(parent.at(name.toString()));
                }
                folder = parent.child(name.toString());
            } finally {
                parent.close();
            }
        }
        return folder;
    }

    private static OpenFolder open(String path, Path shown) throws IOException {
        int descriptor = Bound.C.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC, 0);
        if (descriptor < 0) {
            if (!Files.exists(Path.of(path), LinkOption.NOFOLLOW_LINKS)) {
                throw new NoSuchFileException(shown.toString());
            }
            throw new FileSystemException(shown.toString(), null, "is no folder that can be opened, or a link");
        }
        return new OpenFolder(descriptor, shown);
    }

    /** A folder in this one; a link is refused. */
    public OpenFolder child(String name) throws IOException {
        return open(at(name).toString(), shown.resolve(name));
    }

    /** The path by which Java's methods reach one name in this folder; good until it is closed. */
    public Path at(String name) {
        if (name.isEmpty()
                || name.equals(".")
                || name.equals("..")
                || name.indexOf('/') >= 0
                || name.indexOf('\0') >= 0) {
            throw new IllegalArgumentException("no plain name: " + name);
        }
        return itself().resolve(name);
    }

    /** The path by which Java's methods reach the folder itself; it is a link of /proc's that has to be followed. */
    public Path itself() {
        return Path.of("/proc/self/fd/" + descriptor);
    }

    /** The same folder, opened once more: each of the two is closed for itself. */
    OpenFolder again() throws IOException {
        return open(itself() + "/.", shown);
    }

    /**
     * Makes a folder in this one, for this process's user only, and opens it.
     *
     * @throws IOException also when something of that name is there, or when the new folder was replaced before it was open
     */
    public OpenFolder makePrivate(String name) throws IOException {
        Files.createDirectory(
                at(name), PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        OpenFolder made = child(name);
        if (!made.isPrivate()) {
            made.close();
            throw new FileSystemException(shown.resolve(name).toString(), null, "was replaced while it was made");
        }
        return made;
    }

    /** Whether it is of this process's user, and nobody else may look into it. */
    public boolean isPrivate() throws IOException {
        Map<String, Object> is = Files.readAttributes(itself(), "unix:uid,mode");
        return is.get("uid").equals(Bound.C.geteuid()) && ((int) is.get("mode") & OF_OTHERS) == 0;
    }

    /**
     * Swaps what is under a name here with what is under a name there, whatever the two are: at no moment is one of the
     * names missing.
     *
     * @return false, and nothing is done, where kernel or file system cannot
     * @throws NoSuchFileException when one of them is missing
     */
    public boolean exchange(String name, OpenFolder there, String other) throws IOException {
        return rename(name, there, other, RENAME_EXCHANGE);
    }

    /**
     * Moves what is under a name here to a name there that nothing has yet.
     *
     * @return false, and nothing is done, where kernel or file system cannot tell
     * @throws FileAlreadyExistsException when something has it
     */
    public boolean moveToFree(String name, OpenFolder there, String other) throws IOException {
        return rename(name, there, other, RENAME_NOREPLACE);
    }

    private boolean rename(String name, OpenFolder there, String other, int flags) throws IOException {
        Long number = RENAMEAT2.get(System.getProperty("os.arch"));
        if (number == null) {
            return false;
        }
        if (Bound.C.syscall(number, AT_FDCWD, bytes(at(name)), AT_FDCWD, bytes(there.at(other)), flags) == 0) {
            return true;
        }
        int error = Runtime.getRuntime(Bound.C).getLastError();
        String from = shown.resolve(name).toString();
        String to = there.shown.resolve(other).toString();
        switch (error) {
            case EINVAL, ENOSYS, EOPNOTSUPP:
                return false;
            case ENOENT:
                throw new NoSuchFileException(from, to, null);
            case EEXIST:
                throw new FileAlreadyExistsException(from, to, null);
            default:
                throw new FileSystemException(from, to, "cannot be renamed: error " + error);
        }
    }

    private static byte[] bytes(Path path) {
        return (path + "\0").getBytes(NAMES);
    }

    private void makeFifo(String name) throws IOException {
        if (Bound.C.mkfifo(at(name).toString(), 0600) != 0) {
            throw new FileSystemException(shown.resolve(name).toString(), null, "no FIFO can be made here");
        }
    }

    /**
     * Makes a FIFO and gives it a mode and, unless negative, an owner.
     *
     * <p>Java's own methods would open it to do so, and wait for its other end.
     */
    public void makeFifo(String name, int mode, int uid, int gid) throws IOException {
        makeFifo(name);
        int fifo = Bound.C.open(at(name).toString(), O_PATH | O_NOFOLLOW | O_CLOEXEC, 0);
        if (fifo < 0) {
            throw new NoSuchFileException(shown.resolve(name).toString());
        }
        try {
            Path pinned = Path.of("/proc/self/fd/" + fifo);
            if (uid >= 0) {
                Files.setAttribute(pinned, "unix:uid", uid);
                Files.setAttribute(pinned, "unix:gid", gid);
            }
            Files.setAttribute(pinned, "unix:mode", mode);
        } finally {
            Bound.C.close(fifo);
        }
    }

    /**
     * Sets the time of the last change of a file, folder, FIFO or link, which is neither opened nor followed.
     *
     * <p>Java's own methods set none of a link, wait for the other end of a FIFO, and make 0 of a fraction before 1970.
     *
     * @param nanos from 0 to 999,999,999, before 1970 as well
     */
    public static void setModified(Path path, long seconds, int nanos) throws IOException {
        if (Bound.C.utimensat(AT_FDCWD, bytes(path), new long[] {0, UTIME_OMIT, seconds, nanos}, AT_SYMLINK_NOFOLLOW)
                != 0) {
            throw new FileSystemException(path.toString(), null, "its time cannot be set here");
        }
    }

    /** Where it was when it was opened, for people. */
    Path shown() {
        return shown;
    }

    @Override
    public void close() {
        Bound.C.close(descriptor);
    }
}
