package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.util.List;
import java.util.stream.Stream;

/**
 * The mounts that criu misreads: control characters in their path, or in the folder that they show.
 *
 * <p>The kernel writes blank, tab and newline as octal digits, and all other characters as they are. CRIU 4.2.1 reads a
 * carriage return as the end of the field. Then {@code criu check} fails.
 *
 * <p>Source: proc_pid_mountinfo(5), {@code parse_mountinfo_ent} in CRIU's {@code proc_parse.c}.
 */
final class MisreadMounts {

    private MisreadMounts() {}

    /** Their mount points as plain text, from the lines of a {@code mountinfo} file, in order. */
    static List<String> in(List<String> mountInfo) {
        return mountInfo.stream()
                .filter(MisreadMounts::isMisread)
                .map(line -> PlainText.of(Mounts.pointOf(line)))
                .toList();
    }

    private static boolean isMisread(String line) {
        return Stream.of(line.split(" "))
                .skip(3)
                .limit(2)
                .anyMatch(f -> f.chars().anyMatch(Character::isISOControl));
    }
}
