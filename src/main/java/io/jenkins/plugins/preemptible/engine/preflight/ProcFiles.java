package io.jenkins.plugins.preemptible.engine.preflight;

import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * Reading below {@code /proc} while processes come and go.
 *
 * <ol>
 *   <li>A file is read whole at once, so that it is of one moment as far as the kernel makes it so.
 *   <li>What vanished, or must not be read, is empty, never an exception.
 *   <li>Bytes are taken as ISO 8859-1: names in them are compared and shown, never opened.
 * </ol>
 */
final class ProcFiles {

    private ProcFiles() {}

    static Path of(long pid) {
        return Path.of("/proc", Long.toString(pid));
    }

    static String text(Path file) {
        try {
            return new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1);
        } catch (IOException e) {
            return "";
        }
    }

    static Stream<String> lines(Path file) {
        return text(file).lines();
    }

    static Optional<String> link(Path file) {
        try {
            return Optional.of(Files.readSymbolicLink(file).toString());
        } catch (IOException | java.nio.file.InvalidPathException e) {
            return Optional.empty();
        }
    }

    /** The numbers that name the entries of a folder, such as process ids or descriptors. */
    static List<Long> numbers(Path folder) {
        String[] names = new File(folder.toString()).list();
        if (names == null) {
            return List.of();
        }
        return Stream.of(names)
                .filter(n -> Character.isDigit(n.charAt(0)))
                .map(Long::valueOf)
                .toList();
    }

    /** The value of {@code name:} in lines such as those of {@code status} and {@code fdinfo}, trimmed. */
    static Optional<String> field(String text, String name) {
        for (int at = text.indexOf(name + ":"); at >= 0; at = text.indexOf(name + ":", at + 1)) {
            if (at == 0 || text.charAt(at - 1) == '\n') {
                int end = text.indexOf('\n', at);
                return Optional.of(text.substring(at + name.length() + 1, end < 0 ? text.length() : end).trim());
            }
        }
        return Optional.empty();
    }

    /** The leading digits of such a value, or {@code otherwise}. */
    static long number(String text, String name, long otherwise) {
        return field(text, name)
                .map(v -> v.split("[^0-9]", 2)[0])
                .filter(v -> !v.isEmpty())
                .map(Long::valueOf)
                .orElse(otherwise);
    }
}
