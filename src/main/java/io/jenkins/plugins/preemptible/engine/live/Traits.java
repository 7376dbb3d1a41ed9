package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import jnr.ffi.LibraryLoader;
import jnr.ffi.Memory;
import jnr.ffi.Pointer;
import jnr.ffi.Runtime;

/**
 * Owner, mode, time, extended attributes and access lists of a file or folder that a copy of it is given too.
 *
 * <p>All paths are those of descriptors ({@code /proc/self/fd}), and followed. The attributes are those that an archive
 * takes: of users, capabilities of programs, and access lists. Sources: xattr(7), utimensat(2).
 */
final class Traits {

    /** What is asked of a file: all of this tells whether it has changed. */
    static final String ASKED = "unix:mode,uid,gid,dev,ino,nlink,size,lastModifiedTime,ctime";

    private static final Set<String> KEPT =
            Set.of("security.capability", "system.posix_acl_access", "system.posix_acl_default");
    /** XATTR_SIZE_MAX and XATTR_LIST_MAX. */
    private static final int MOST_BYTES = 64 * 1024;

    private static final int AT_FDCWD = -100;
    private static final long UTIME_OMIT = (1L << 30) - 2;

    /** The functions as the C library names them. */
    public interface Functions {
        long listxattr(String path, byte[] list, long size);

        long getxattr(String path, String name, byte[] value, long size);

        int setxattr(String path, String name, byte[] value, long size, int flags);

        int utimensat(int folder, String path, Pointer times, int flags);
    }

    private static final class Bound {
        static final Functions C = LibraryLoader.create(Functions.class).load("c");
    }

    private Traits() {}

    /** The extended attributes by their names; mostly none. */
    static Map<String, byte[]> attributes(Path path) throws IOException {
        if (Bound.C.listxattr(path.toString(), null, 0) <= 0) {
            return Map.of();
        }
        byte[] list = new byte[MOST_BYTES];
        long size = Bound.C.listxattr(path.toString(), list, list.length);
        if (size < 0) {
            throw new FileSystemException(path.toString(), null, "its extended attributes cannot be listed");
        }
        Map<String, byte[]> found = new HashMap<>();
        for (String name : new String(list, 0, (int) size, StandardCharsets.UTF_8).split("\0")) {
            if (name.startsWith("user.") || KEPT.contains(name)) {
                byte[] value = new byte[MOST_BYTES];
                long length = Bound.C.getxattr(path.toString(), name, value, value.length);
                if (length < 0) {
                    throw new FileSystemException(path.toString(), null, "its attribute " + name + " cannot be read");
                }
                found.put(name, Arrays.copyOf(value, (int) length));
            }
        }
        return found;
    }

    /**
     * Gives them to a copy.
     *
     * @param is what {@link #ASKED} said of the original
     * @param shown the original, for people
     */
    static void give(Path copy, Map<String, Object> is, Map<String, byte[]> attributes, Path shown) throws IOException {
        for (Map.Entry<String, Object> has :
                Files.readAttributes(copy, "unix:uid,gid").entrySet()) {
            if (!has.getValue().equals(is.get(has.getKey()))) {
                Files.setAttribute(copy, "unix:" + has.getKey(), is.get(has.getKey()));
            }
        }
        // After the owner, whose change takes the set-user-id bit and capabilities away.
        Files.setAttribute(copy, "unix:mode", (int) is.get("mode") & 07777);
        for (Map.Entry<String, byte[]> each : attributes.entrySet()) {
            byte[] value = each.getValue();
            if (Bound.C.setxattr(copy.toString(), each.getKey(), value, value.length, 0) != 0) {
                throw new SuspendFailedException(
                        FailureReason.UNPACKABLE_FILES,
                        shown + ": its attribute " + each.getKey() + " cannot be kept on the disk of the agent's home");
            }
        }
        setModified(copy, (FileTime) is.get("lastModifiedTime"));
    }

    /** Java's own methods refuse a part of a second before 1970. */
    private static void setModified(Path copy, FileTime time) throws IOException {
        Instant instant = time.toInstant();
        Pointer times = Memory.allocateDirect(Runtime.getRuntime(Bound.C), 4 * Long.BYTES);
        times.putLong(0, 0);
        times.putLong(Long.BYTES, UTIME_OMIT);
        times.putLong(2 * Long.BYTES, instant.getEpochSecond());
        times.putLong(3 * Long.BYTES, instant.getNano());
        if (Bound.C.utimensat(AT_FDCWD, copy.toString(), times, 0) != 0) {
            throw new FileSystemException(copy.toString(), null, "cannot be given its time");
        }
    }
}
