package io.jenkins.plugins.preemptible.engine.testrun;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintWriter;
import java.lang.ProcessBuilder.Redirect;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.regex.Pattern;

/** A call of Maven, in a process of its own. */
final class MavenCall {

    private static final Pattern COLOURS = Pattern.compile("\033\\[[0-9;]*m");

    private MavenCall() {}

    /**
     * Runs a command; what hangs shows its threads at the limit, and is ended half a minute later.
     *
     * @param limit as coreutils' {@code timeout} reads it, such as {@code 25m}
     * @param log takes all output; null for this process's own streams
     * @return the command's exit status; 124, 131 or 137 where the limit was passed
     */
    static int within(String limit, Path log, List<String> command) throws IOException, InterruptedException {
        return within(limit, log, Map.of(), command);
    }

    /** @param environment added to this process's own */
    static int within(String limit, Path log, Map<String, String> environment, List<String> command)
            throws IOException, InterruptedException {
        List<String> limited = new ArrayList<>(List.of("timeout", "--signal=QUIT", "--kill-after=30s", limit));
        limited.addAll(command);
        ProcessBuilder builder = new ProcessBuilder(limited).redirectInput(Redirect.from(new File("/dev/null")));
        builder.environment().putAll(environment);
        if (log == null) {
            builder.redirectOutput(Redirect.INHERIT).redirectError(Redirect.INHERIT);
        } else {
            builder.redirectErrorStream(true).redirectOutput(log.toFile());
        }
        Process process = builder.start();
        // The terminal's interrupt does not reach the process group that timeout makes.
        Thread endIt = new Thread(process::destroy);
        Runtime.getRuntime().addShutdownHook(endIt);
        try {
            return process.waitFor();
        } finally {
            try {
                Runtime.getRuntime().removeShutdownHook(endIt);
            } catch (IllegalStateException e) {
                // This process ends, and the hook runs.
            }
        }
    }

    /**
     * Runs the {@code mvn} of PATH; only errors and warnings are said, on {@code err}. Returns its exit status.
     *
     * @param folder where it runs: in one with a POM that cannot be read Maven does nothing
     */
    static int quietly(PrintWriter err, Path folder, String... arguments) throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of("mvn", "-q", "-B", "-Dstyle.color=never"));
        command.addAll(Arrays.asList(arguments));
        Process process = new ProcessBuilder(command)
                .directory(folder.toFile())
                .redirectInput(Redirect.from(new File("/dev/null")))
                .redirectErrorStream(true)
                .start();
        try (BufferedReader output = new BufferedReader(new InputStreamReader(process.getInputStream()))) {
            for (String line = output.readLine(); line != null; line = output.readLine()) {
                // Some Maven resets the terminal's colours even where none were set.
                String plain = COLOURS.matcher(line).replaceAll("");
                if (!plain.isBlank()) {
                    err.println(plain);
                }
            }
        }
        return process.waitFor();
    }
}
