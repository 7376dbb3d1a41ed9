package io.jenkins.plugins.preemptible.engine.host;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * Finds a program of this host and runs it for its answer.
 *
 * <ol>
 *   <li>{@link #find} searches PATH and then the folders for administration, which an agent's PATH often lacks.
 *   <li>{@link #run} gives arguments as a vector, no shell, and an empty standard input.
 *   <li>Output and errors come back as one text; a program that hangs is ended.
 * </ol>
 */
public final class HostTool {

    private static final List<String> ALSO = List.of("/usr/local/sbin", "/usr/sbin", "/usr/bin", "/sbin", "/bin");

    private HostTool() {}

    /** The answer of a program; {@code code} is -1 when it could not be started or did not end in time. */
    public record Answer(int code, String text) {
        public boolean ok() {
            return code == 0;
        }

        /** The first line that is not blank, or an empty text. */
        public String firstLine() {
            return text.lines()
                    .map(String::trim)
                    .filter(l -> !l.isEmpty())
                    .findFirst()
                    .orElse("");
        }
    }

    /** The first executable file of this name. */
    public static Optional<Path> find(String name) {
        List<String> folders = new ArrayList<>();
        String path = System.getenv("PATH");
        if (path != null) {
            folders.addAll(List.of(path.split(File.pathSeparator)));
        }
        folders.addAll(ALSO);
        return folders.stream()
                .filter(f -> f.startsWith("/"))
                .map(f -> Path.of(f, name))
                .filter(p -> Files.isRegularFile(p) && Files.isExecutable(p))
                .findFirst();
    }

    /** Runs a program to its end, at most for {@code seconds}, or longer where {@link TimeLimits} says so. */
    public static Answer run(long seconds, List<String> command) {
        return run(seconds, null, command);
    }

    /**
     * As {@link #run(long, List)}.
     *
     * @param environment all that the program gets; null for this process's own
     */
    public static Answer run(long seconds, Map<String, String> environment, List<String> command) {
        Path out = null;
        try {
            // A file rather than a pipe: a child that stays in the background must not make this wait.
            out = Files.createTempFile("preemptible-", ".out");
            ProcessBuilder builder = new ProcessBuilder(command)
                    .redirectErrorStream(true)
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(out.toFile());
            if (environment != null) {
                builder.environment().clear();
                builder.environment().putAll(environment);
            }
            Process process = builder.start();
            boolean ended =
                    process.waitFor(TimeLimits.of(Duration.ofSeconds(seconds)).toMillis(), TimeUnit.MILLISECONDS);
            if (!ended) {
                process.destroyForcibly();
            }
            return new Answer(ended ? process.exitValue() : -1, Files.readString(out));
        } catch (IOException e) {
            return new Answer(-1, String.valueOf(e.getMessage()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return new Answer(-1, "interrupted");
        } finally {
            if (out != null) {
                deleteQuietly(out);
            }
        }
    }

    private static void deleteQuietly(Path file) {
        try {
            Files.deleteIfExists(file);
        } catch (IOException e) {
            // A few words in the folder for temporary files: they do no harm.
        }
    }
}
