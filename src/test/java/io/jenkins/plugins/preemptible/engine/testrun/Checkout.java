package io.jenkins.plugins.preemptible.engine.testrun;

import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;

/**
 * A checkout of this project, and where its two builds write.
 *
 * @param root absolute; has {@code .ci/engine-pom.xml}, and {@code pom.xml} unless the plugin half was left out
 */
record Checkout(Path root) {

    /** The system property by which the launcher names the checkout; without it, the current folder. */
    static final String PROPERTY = "preemptible.checkout";

    static Checkout here() {
        return new Checkout(Path.of(System.getProperty(PROPERTY, "")).toAbsolutePath());
    }

    Path enginePom() {
        return root.resolve(".ci/engine-pom.xml");
    }

    Path pluginPom() {
        return root.resolve("pom.xml");
    }

    Path tests() {
        return root.resolve("src/test/java");
    }

    Path engineReports() {
        return root.resolve("target/engine/surefire-reports");
    }

    Path pluginReports() {
        return root.resolve("target/surefire-reports");
    }

    /** All that Maven says of the plugin half. */
    Path pluginLog() {
        return root.resolve("target/plugin-half.log");
    }

    /** Else the reports of an earlier run would count. */
    void deleteReports() throws IOException {
        for (Path folder : List.of(engineReports(), pluginReports())) {
            if (!Files.isDirectory(folder)) {
                continue;
            }
            try (Stream<Path> all = Files.walk(folder)) {
                for (Path each : all.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(each);
                }
            }
        }
    }

    /**
     * Installs what this machine lacks, as far as that is possible; says on {@code err} when something is still missing.
     *
     * @param extent an option of {@code .ci/setup}
     */
    void setUp(String extent, PrintWriter err) throws IOException, InterruptedException {
        Path script = root.resolve(".ci/setup");
        if (!Files.isExecutable(script)) {
            return;
        }
        if (new ProcessBuilder(script.toString(), extent).inheritIO().start().waitFor() != 0) {
            err.println("preempt: the set-up is not complete; what needs the missing things will say so");
        }
    }
}
