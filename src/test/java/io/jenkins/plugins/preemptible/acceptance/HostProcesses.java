package io.jenkins.plugins.preemptible.acceptance;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * What runs on this host, read from /proc.
 *
 * <ol>
 *   <li>Processes are found by words of their command lines, such as a workspace's path, since other tests may run
 *       on the same machine.
 *   <li>A process that ends while it is looked at is left out.
 *   <li>Zombies have no command line and are left out too.
 * </ol>
 */
public final class HostProcesses {

    private HostProcesses() {}

    /** Command lines of the processes that name the text in theirs. */
    public static List<String> mentioning(String text) throws IOException {
        List<String> found = new ArrayList<>();
        try (var entries = Files.newDirectoryStream(Path.of("/proc"), "[0-9]*")) {
            for (Path process : entries) {
                try {
                    String command = Files.readString(process.resolve("cmdline"), StandardCharsets.ISO_8859_1)
                            .replace('\0', ' ');
                    if (command.contains(text)) {
                        found.add(process.getFileName() + " " + command.trim());
                    }
                } catch (IOException gone) {
                    // It has just ended.
                }
            }
        }
        return found;
    }

    /** How many entries such a folder of a process has: {@code fd}, {@code task}. */
    static int count(long pid, String folder) throws IOException {
        try (var entries = Files.list(Path.of("/proc", Long.toString(pid), folder))) {
            return (int) entries.count();
        }
    }

    /** The control groups of a stage, wherever in the hierarchies. */
    public static List<String> controlGroups(String stageId) {
        List<String> found = new ArrayList<>();
        collect(new File("/sys/fs/cgroup"), "preemptible-" + stageId + "-", found);
        return found;
    }

    private static void collect(File folder, String prefix, List<String> found) {
        // Null for a group that has just been removed.
        File[] below = folder.listFiles(File::isDirectory);
        for (File child : below == null ? new File[0] : below) {
            if (child.getName().startsWith(prefix)) {
                found.add(child.getPath());
            } else if (!Files.isSymbolicLink(child.toPath())) {
                collect(child, prefix, found);
            }
        }
    }
}
