package io.jenkins.plugins.preemptible.engine.preflight;

import java.nio.file.Path;
import java.util.Optional;

/** The folders of processes below {@code /proc}, and the lines of their files. */
final class ProcFiles {

    private ProcFiles() {}

    static Path of(long pid) {
        return Path.of("/proc", Long.toString(pid));
    }

    /** The value of {@code name:} in lines such as those of {@code status} and {@code fdinfo}, trimmed. */
    static Optional<String> field(String text, String name) {
        for (int at = text.indexOf(name + ":"); at >= 0; at = text.indexOf(name + ":", at + 1)) {
            if (at == 0 || text.charAt(at - 1) == '\n') {
                int end = text.indexOf('\n', at);
                return Optional.of(text.substring(at + name.length() + 1, end < 0 ? text.length() : end)
                        .trim());
            }
        }
        return Optional.empty();
    }

    /** The leading digits of such a value, or {@code otherwise}. */
    static long number(String text, String name, long otherwise) {
        return field(text, name)
                .map(ProcFiles::leadingDigits)
                .filter(v -> !v.isEmpty())
                .map(Long::valueOf)
                .orElse(otherwise);
    }

    private static String leadingDigits(String value) {
        int end = 0;
        while (end < value.length() && value.charAt(end) >= '0' && value.charAt(end) <= '9') {
            end++;
        }
        return value.substring(0, end);
    }
}
