package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Each package of the engine has a package-info: what it is for, who may use it, threads, and where its tests are. Only
 * the last of these can be checked.
 */
class PackageInfoTest {

    private static final Path SOURCES = Path.of("src/main/java/io/jenkins/plugins/preemptible/engine");

    @Test
    void everyPackageIsDescribedAndNamesItsTests() throws IOException {
        List<Path> packages;
        try (Stream<Path> all = Files.walk(SOURCES)) {
            packages = all.filter(file -> file.toString().endsWith(".java"))
                    .map(Path::getParent)
                    .distinct()
                    .sorted()
                    .toList();
        }
        assertFalse(packages.isEmpty());
        assertEquals(
                List.of(),
                packages.stream().filter(folder -> !describes(folder)).toList());
    }

    private static boolean describes(Path folder) {
        Path info = folder.resolve("package-info.java");
        try {
            String text = Files.exists(info) ? Files.readString(info) : "";
            return text.toLowerCase(Locale.ROOT).contains("test");
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }
}
