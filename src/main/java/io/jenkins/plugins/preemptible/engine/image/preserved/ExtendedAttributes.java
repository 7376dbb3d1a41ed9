package io.jenkins.plugins.preemptible.engine.image.preserved;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileSystemException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import jnr.ffi.LibraryLoader;

/**
 * The extended attributes and access lists of a file or folder, as far as they belong to it and not to the host.
 *
 * <ol>
 *   <li>Those of users, capabilities of programs, and access lists, which the kernel shows as attributes. Labels of a
 *       security module, and what a file system keeps there for itself, are the host's.
 *   <li>Values are bytes; here they are text of Base64.
 *   <li>The last name of a path is not followed when it is a link.
 * </ol>
 *
 * Sources: xattr(7), acl(5), capabilities(7).
 */
final class ExtendedAttributes {

    private static final String USERS = "user.";
    private static final java.util.Set<String> OTHERS =
            java.util.Set.of("security.capability", "system.posix_acl_access", "system.posix_acl_default");
    /** XATTR_SIZE_MAX and XATTR_LIST_MAX. */
    private static final int MOST_BYTES = 64 * 1024;

    /** The functions as the C library names them. */
    public interface Functions {
        long llistxattr(String path, byte[] list, long size);

        long lgetxattr(String path, String name, byte[] value, long size);

        int lsetxattr(String path, String name, byte[] value, long size, int flags);
    }

    private static final class Bound {
        static final Functions C = LibraryLoader.create(Functions.class).load("c");
    }

    private ExtendedAttributes() {}

    /** Whether one of this name travels with its file. */
    static boolean isKept(String name) {
        return name.startsWith(USERS) && name.length() > USERS.length() || OTHERS.contains(name);
    }

    /** @return null when there is none, or the file system knows none */
    static Map<String, String> of(Path path) throws IOException {
        long size = Bound.C.llistxattr(path.toString(), null, 0);
        if (size <= 0) {
            return null;
        }
        byte[] list = new byte[MOST_BYTES];
        size = Bound.C.llistxattr(path.toString(), list, list.length);
        if (size < 0) {
            throw new FileSystemException(path.toString(), null, "its extended attributes cannot be listed");
        }
        Map<String, String> found = new TreeMap<>();
        byte[] value = null;
        for (String name : new String(list, 0, (int) size, StandardCharsets.UTF_8).split("\0")) {
            if (isKept(name)) {
                value = value == null ? new byte[MOST_BYTES] : value;
                long length = Bound.C.lgetxattr(path.toString(), name, value, value.length);
                if (length < 0) {
                    throw new FileSystemException(path.toString(), null, "its attribute " + name + " cannot be read");
                }
                found.put(name, Base64.getEncoder().encodeToString(Arrays.copyOf(value, (int) length)));
            }
        }
        return found.isEmpty() ? null : found;
    }

    /** @return whether any had to be set; others are left alone */
    static boolean give(Path path, Map<String, String> attributes) throws IOException {
        if (attributes == null || attributes.isEmpty()) {
            return false;
        }
        Map<String, String> is = of(path);
        boolean changed = false;
        for (Map.Entry<String, String> each : attributes.entrySet()) {
            if (is == null || !each.getValue().equals(is.get(each.getKey()))) {
                byte[] value = Base64.getDecoder().decode(each.getValue());
                if (Bound.C.lsetxattr(path.toString(), each.getKey(), value, value.length, 0) != 0) {
                    throw new FileSystemException(
                            path.toString(), null, "its attribute " + each.getKey() + " cannot be set here");
                }
                changed = true;
            }
        }
        return changed;
    }

    /** Whether a writer could have said this. */
    static boolean isSound(String name, String value) {
        try {
            return name != null
                    && value != null
                    && isKept(name)
                    && name.indexOf('\0') < 0
                    && Base64.getDecoder().decode(value).length <= MOST_BYTES;
        } catch (IllegalArgumentException e) {
            return false;
        }
    }
}
