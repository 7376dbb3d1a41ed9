package io.jenkins.plugins.preemptible.engine.image.preserved;

import io.jenkins.plugins.preemptible.engine.image.ImageManifest.Kind;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.PreservedFile;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.time.Instant;
import java.util.Map;

/** Gives a file, folder or link the owner, mode, extended attributes and time that were sealed; the owner as root only. */
final class FileTraits {

    private static final boolean CHOWN = isRoot();

    private FileTraits() {}

    /** Whether an attribute of this name and value may be in a manifest. */
    static boolean isSound(Map.Entry<String, String> attribute) {
        return ExtendedAttributes.isSound(attribute.getKey(), attribute.getValue());
    }

    /** Whether this process may give files to others. */
    static boolean chowns() {
        return CHOWN;
    }

    /** Returns whether any of them was another. */
    static boolean give(Path path, PreservedFile file) throws IOException {
        Map<String, Object> is = Files.readAttributes(path, "unix:mode,uid,gid", LinkOption.NOFOLLOW_LINKS);
        boolean link = file.kind() == Kind.SYMLINK;
        boolean changed = false;
        if (CHOWN && !is.get("uid").equals(file.uid())) {
            Files.setAttribute(path, "unix:uid", file.uid(), LinkOption.NOFOLLOW_LINKS);
            changed = true;
        }
        if (CHOWN && !is.get("gid").equals(file.gid())) {
            Files.setAttribute(path, "unix:gid", file.gid(), LinkOption.NOFOLLOW_LINKS);
            changed = true;
        }
        // After the owner: a change of owner takes the set-user-id bit away, and capabilities.
        if (!link && (changed || ((int) is.get("mode") & 07777) != file.mode())) {
            Files.setAttribute(path, "unix:mode", file.mode(), LinkOption.NOFOLLOW_LINKS);
            changed = true;
        }
        if (!link) {
            changed |= ExtendedAttributes.give(path, file.attributes());
        }
        return changed | giveTime(path, file);
    }

    /** The time alone; a FIFO is not opened for it. */
    static boolean giveTime(Path path, PreservedFile file) throws IOException {
        Instant is = Files.getLastModifiedTime(path, LinkOption.NOFOLLOW_LINKS).toInstant();
        if (is.getEpochSecond() == file.seconds() && is.getNano() == file.nanos()) {
            return false;
        }
        OpenFolder.setModified(path, file.seconds(), file.nanos());
        return true;
    }

    private static boolean isRoot() {
        try {
            return Integer.valueOf(0).equals(Files.getAttribute(Path.of("/proc/self"), "unix:uid"));
        } catch (IOException e) {
            return false;
        }
    }
}
