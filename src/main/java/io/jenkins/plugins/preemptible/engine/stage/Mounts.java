package io.jenkins.plugins.preemptible.engine.stage;

import java.util.List;

/**
 * The mount points of a stage's mount namespace that belong to the host.
 *
 * <ol>
 *   <li>They are the namespace's mounts right after its start, without the root and the stage's own /proc,
 *       /tmp and /dev/shm ({@link PrivateTmp}), whose content has to be in the image.
 *   <li>At a dump each is declared external, so its content is neither copied into the image nor lost.
 *   <li>At a restore the host's mount of the same path is bound again.
 * </ol>
 *
 * Source: CRIU's wiki, "External bind mounts", and option {@code --external mnt[KEY]:VAL}.
 */
public final class Mounts {

    private Mounts() {}

    /** The mount points in the lines of a {@code mountinfo} file, each once, in order. */
    public static List<String> ofHost(List<String> mountInfo) {
        return mountInfo.stream()
                .filter(l -> !l.contains(" - tmpfs " + PrivateTmp.SOURCE + " ")
                        && !l.contains(" - devpts " + PrivateTmp.SOURCE + " "))
                .map(Mounts::pointOf)
                .filter(p -> !p.equals("/") && !p.equals("/proc"))
                .distinct()
                .toList();
    }

    /** The mount point in a line of a {@code mountinfo} file. */
    public static String pointOf(String line) {
        return unescape(line.split(" ")[4]);
    }

    // The kernel writes blank, tab, newline and backslash as three octal digits.
    private static String unescape(String text) {
        return text.replace("\\040", " ")
                .replace("\\011", "\t")
                .replace("\\012", "\n")
                .replace("\\134", "\\");
    }
}
