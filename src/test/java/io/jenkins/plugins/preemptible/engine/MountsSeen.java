package io.jenkins.plugins.preemptible.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.regex.Pattern;

/** The mounts that this process sees, but those of other tests, which come and go in another JVM meanwhile. */
public final class MountsSeen {

    /** Where tests mount: in folders with such a name, and by the programs of containers. */
    private static final Pattern OF_A_TEST = Pattern.compile(
            "/[^/]*preemptible[^/]*(/|$)|/junit-[0-9]+(/|$)|^/(var/lib|run)/(docker|containers)/|^/run/(docker|user)/|/overlay2?/");

    private static final int MOUNT_POINT = 4;

    private MountsSeen() {}

    /** @param folder the test's own, below which mounts count */
    public static List<String> now(Path folder) throws IOException {
        // As the kernel writes it.
        String own = folder.toString().replace(" ", "\\040");
        return Files.readAllLines(Path.of("/proc/self/mountinfo")).stream()
                .filter(line -> line.contains(own)
                        || !OF_A_TEST.matcher(line.split(" ")[MOUNT_POINT]).find())
                .toList();
    }
}
