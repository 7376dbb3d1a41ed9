package io.jenkins.plugins.preemptible.engine.testrun;

import java.io.IOException;
import java.io.PrintWriter;
import java.lang.module.ModuleDescriptor.Version;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * Finds a Maven for the plugin half, whose parent POM refuses those before 3.9.6.
 *
 * <ol>
 *   <li>The one that PREEMPT_MVN names, the one of PATH, then the one that was fetched earlier.
 *   <li>Where all are older, a newer one is fetched by the one of PATH into the project's own folder.
 * </ol>
 */
final class PluginMaven {

    private static final Version OLDEST = Version.parse("3.9.6");
    private static final String FETCHED = "3.9.11";
    private static final Pattern SAID = Pattern.compile("Apache Maven ([0-9]+(\\.[0-9]+)*)");

    private PluginMaven() {}

    /** Returns nothing where none can be had, which has been said on {@code err}. */
    static Optional<String> find(Map<String, String> environment, PrintWriter err)
            throws IOException, InterruptedException {
        Path prefix = Path.of(environment.get("PREEMPTIBLE_PREFIX")).resolve("maven");
        Path own = prefix.resolve("apache-maven-" + FETCHED + "/bin/mvn");
        List<String> candidates = new ArrayList<>(List.of("mvn", own.toString()));
        String chosen = environment.getOrDefault("PREEMPT_MVN", "");
        if (!chosen.isEmpty()) {
            candidates.add(0, chosen);
        }
        for (String candidate : candidates) {
            if (isNewEnough(version(candidate))) {
                return Optional.of(candidate);
            }
        }
        err.println("preempt: fetching Maven " + FETCHED + " into " + prefix
                + ", since the installed one is older than " + OLDEST);
        Files.createDirectories(prefix);
        int status = MavenCall.quietly(
                err,
                prefix,
                "org.apache.maven.plugins:maven-dependency-plugin:3.8.1:unpack",
                "-Dartifact=org.apache.maven:apache-maven:" + FETCHED + ":tar.gz:bin",
                "-DoutputDirectory=" + prefix);
        own.toFile().setExecutable(true);
        return status == 0 && isNewEnough(version(own.toString())) ? Optional.of(own.toString()) : Optional.empty();
    }

    private static String version(String program) throws InterruptedException {
        try {
            Process process =
                    new ProcessBuilder(program, "-v").redirectErrorStream(true).start();
            process.getOutputStream().close();
            String said = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
            process.waitFor();
            return said;
        } catch (IOException e) {
            // There is no such program.
            return "";
        }
    }

    /** @param said by {@code mvn -v} */
    static boolean isNewEnough(String said) {
        Matcher version = SAID.matcher(said);
        return version.find() && Version.parse(version.group(1)).compareTo(OLDEST) >= 0;
    }
}
