package io.jenkins.plugins.preemptible.engine.testrun;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * Finds a JDK for the plugin half: Jenkins 2.555 needs Java 21, and its parent POM takes long-term versions only.
 *
 * <ol>
 *   <li>The one that JAVA_HOME names.
 *   <li>Where that does not fit, the first by name of those that the system's packages install.
 * </ol>
 */
final class PluginJava {

    /** Where Debian, Ubuntu, Fedora and SUSE install them. */
    private static final Path PACKAGED = Path.of("/usr/lib/jvm");

    private static final Set<String> FITTING = Set.of("21", "25");
    private static final Pattern VERSION = Pattern.compile("(?m)^JAVA_VERSION=\"([0-9]+)");

    private PluginJava() {}

    /** Returns the home of a JDK with a compiler, or nothing where there is none that fits. */
    static Optional<Path> find(Map<String, String> environment) throws IOException {
        return find(environment, PACKAGED);
    }

    static Optional<Path> find(Map<String, String> environment, Path packaged) throws IOException {
        String chosen = environment.getOrDefault("JAVA_HOME", "");
        if (!chosen.isEmpty() && fits(Path.of(chosen))) {
            return Optional.of(Path.of(chosen));
        }
        if (!Files.isDirectory(packaged)) {
            return Optional.empty();
        }
        try (Stream<Path> homes = Files.list(packaged)) {
            List<Path> sorted = homes.sorted().toList();
            return sorted.stream().filter(PluginJava::fits).findFirst();
        }
    }

    private static boolean fits(Path home) {
        Path release = home.resolve("release");
        if (!Files.isExecutable(home.resolve("bin/javac")) || !Files.isRegularFile(release)) {
            return false;
        }
        try {
            Matcher version = VERSION.matcher(Files.readString(release));
            return version.find() && FITTING.contains(version.group(1));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
