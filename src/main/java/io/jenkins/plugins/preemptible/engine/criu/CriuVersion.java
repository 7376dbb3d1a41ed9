package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.File;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * The version of a criu program, asked once for each program: the question takes a start of criu, and every dump needs
 * the answer. Safe for any thread.
 */
final class CriuVersion {

    private static final String UNKNOWN = "unknown";
    private static final String LABEL = "Version:";
    /** By program, its time of change and its size. */
    private static final Map<List<Object>, String> KNOWN = new ConcurrentHashMap<>();

    private CriuVersion() {}

    /** Such as {@code 4.2.1}, or {@code unknown}. */
    static String of(Path program) {
        File file = program.toFile();
        List<Object> key = List.of(program, file.lastModified(), file.length());
        String known = KNOWN.get(key);
        if (known == null) {
            known = ask(program);
            // A program that did not answer may answer the next time.
            if (!known.equals(UNKNOWN)) {
                KNOWN.put(key, known);
            }
        }
        return known;
    }

    /**
     * Whether a version is another one or a later one.
     *
     * @param version as {@link #of} gives it; one that is not known counts as late
     */
    static boolean isAtLeast(String version, String wanted) {
        String[] have = version.split("\\D+");
        String[] want = wanted.split("\\D+");
        if (have.length == 0 || have[0].isEmpty()) {
            return true;
        }
        for (int part = 0; part < want.length; part++) {
            int own = part < have.length ? Integer.parseInt(have[part]) : 0;
            int other = Integer.parseInt(want[part]);
            if (own != other) {
                return own > other;
            }
        }
        return true;
    }

    private static String ask(Path program) {
        return HostTool.run(10, List.of(program.toString(), "--version"))
                .text()
                .lines()
                .filter(l -> l.startsWith(LABEL))
                .map(l -> l.substring(LABEL.length()).trim())
                .findFirst()
                .orElse(UNKNOWN);
    }
}
