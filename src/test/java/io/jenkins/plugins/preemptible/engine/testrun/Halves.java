package io.jenkins.plugins.preemptible.engine.testrun;

import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** The two halves of the project: each is one build by Maven, and one of them going wrong does not stop the other. */
final class Halves {

    private static final Pattern UNRESOLVED =
            Pattern.compile("^\\[(ERROR|FATAL)\\].*(Non-resolvable|[Cc]ould not resolve"
                    + "|could not be resolved|Could not find artifact|Could not transfer)");
    private static final Pattern ARTIFACT = Pattern.compile("[A-Za-z0-9_.-]+(:[A-Za-z0-9_.-]+){2,4}");

    private final Checkout checkout;
    private final PrintWriter err;

    Halves(Checkout checkout, PrintWriter err) {
        this.checkout = checkout;
        this.err = err;
    }

    /**
     * Runs the engine's tests. What Maven says goes to this process's own streams.
     *
     * @param options of Maven, besides those that every run has
     */
    HalfResult engine(String limit, List<String> options) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                "mvn", "-B", "-ntp", "-f", checkout.enginePom().toString(), "-Dmaven.test.failure.ignore=true"));
        command.addAll(options);
        command.add("verify");
        return HalfResult.ofStatus(MavenCall.within(limit, null, command), limit);
    }

    /**
     * Runs the plugin's tests. Jenkins artifacts that cannot be had are no failure, anything else that stops the build is.
     *
     * @param options of Maven, besides those that every run has; a later one of a name counts
     * @param out takes what Maven said, at the end; the log has it too
     */
    HalfResult plugin(String limit, List<String> options, OutputStream out) throws IOException, InterruptedException {
        if (!Files.isRegularFile(checkout.pluginPom())) {
            return HalfResult.didNotRun("there is no pom.xml");
        }
        Optional<String> maven = PluginMaven.find(System.getenv(), err);
        if (maven.isEmpty()) {
            return HalfResult.didNotRun(
                    "it needs Maven 3.9.6 or newer, which could not be fetched; set PREEMPT_MVN to one");
        }
        Optional<Path> java = PluginJava.find(System.getenv());
        if (java.isEmpty()) {
            return HalfResult.didNotRun("it needs a JDK of Java 21 or 25; install one, or set JAVA_HOME to one");
        }
        Map<String, String> environment = Map.of("JAVA_HOME", java.get().toString());
        Path log = checkout.pluginLog();
        Files.createDirectories(log.getParent());
        for (String mode : List.of("--offline", "--no-transfer-progress")) {
            List<String> command = new ArrayList<>(List.of(
                    maven.get(),
                    "-B",
                    mode,
                    "-f",
                    checkout.pluginPom().toString(),
                    "-Dmaven.test.failure.ignore=true",
                    "-DforkCount=3",
                    // The engine's tests ran already, in the other half.
                    "-Dtest=!io/jenkins/plugins/preemptible/engine/**",
                    "-Dsurefire.failIfNoSpecifiedTests=false"));
            command.addAll(options);
            command.add("test");
            int status = MavenCall.within(limit, log, environment, command);
            if (status == 0 || missingArtifact(log).isEmpty()) {
                Files.copy(log, out);
                return HalfResult.ofStatus(status, limit);
            }
        }
        return HalfResult.didNotRun("the Jenkins artifacts cannot be had here ("
                + missingArtifact(log).orElseThrow() + ")");
    }

    /** Returns, where a build broke for want of an artifact, its coordinates, or where they are to be read; no addresses. */
    static Optional<String> missingArtifact(Path log) throws IOException {
        // Tests write bytes of any kind there.
        try (Stream<String> lines = Files.lines(log, StandardCharsets.ISO_8859_1)) {
            return lines.filter(line -> UNRESOLVED.matcher(line).find())
                    .findFirst()
                    .map(line -> {
                        Matcher artifact = ARTIFACT.matcher(line);
                        return artifact.find() ? artifact.group() : "see target/plugin-half.log";
                    });
        }
    }
}
