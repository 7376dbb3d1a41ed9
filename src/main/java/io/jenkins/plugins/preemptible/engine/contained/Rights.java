package io.jenkins.plugins.preemptible.engine.contained;

import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The rights of a process, as its kernel tells them: two processes with equal ones may do the same.
 *
 * @param lines of proc(5)'s {@code status} and {@code limits}
 */
record Rights(List<String> lines) {

    private static final Set<String> FIELDS = Set.of(
            "Uid",
            "Gid",
            "Groups",
            "CapInh",
            "CapPrm",
            "CapEff",
            "CapBnd",
            "CapAmb",
            "NoNewPrivs",
            "Seccomp",
            "Seccomp_filters");

    private static final String BOUND = "CapBnd";
    private static final int HEXADECIMAL = 16;

    Rights {
        lines = List.copyOf(lines);
    }

    static Rights of(long pid) {
        List<String> all = new ArrayList<>();
        for (String line : Proc.task(pid, pid, "status")) {
            if (line.contains(":") && FIELDS.contains(line.substring(0, line.indexOf(':')))) {
                all.add(line.trim());
            }
        }
        all.addAll(Proc.task(pid, pid, "limits"));
        return new Rights(all);
    }

    static Rights read(Path file) throws IOException {
        return new Rights(Files.readAllLines(file));
    }

    void write(Path file) throws IOException {
        Files.write(file, lines);
    }

    /** Whether a process with these rights can ever have one of these capabilities, by their numbers. */
    boolean mayHave(int capability) {
        return lines.stream()
                .filter(line -> line.startsWith(BOUND))
                .map(line -> line.substring(line.indexOf(':') + 1).trim())
                .anyMatch(set -> (Long.parseUnsignedLong(set, HEXADECIMAL) >> capability & 1) != 0);
    }

    /** The first line in which a process differs from these. */
    Optional<String> difference(Rights other) {
        for (String line : other.lines) {
            if (!lines.contains(line)) {
                return Optional.of(line.replaceAll("\\s+", " "));
            }
        }
        return lines.size() == other.lines.size() ? Optional.empty() : Optional.of("it does not tell all of them");
    }
}
