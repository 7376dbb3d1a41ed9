package io.jenkins.plugins.preemptible.engine.zdtm;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Verdict;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Way;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A {@link ZdtmWorker} in a network namespace of its own.
 *
 * <p>One that does not answer in time is killed, and the next test gets a new one. For one thread.
 */
final class WorkerProcess implements AutoCloseable {

    private static final Duration LIMIT = Duration.ofMinutes(3);
    private static final ObjectMapper JSON = new ObjectMapper();

    private final ZdtmSuite suite;
    private final Path home;
    private Process process;
    private BufferedReader answers;
    private PrintStream orders;

    WorkerProcess(ZdtmSuite suite, Path home) {
        this.suite = suite;
        this.home = home;
    }

    ZdtmResult run(Way way, String test) throws IOException, InterruptedException {
        if (process == null) {
            start();
        }
        orders.println(way + " " + test);
        try {
            String line = CompletableFuture.supplyAsync(this::answer).get(LIMIT.toSeconds(), TimeUnit.SECONDS);
            if (line != null) {
                return JSON.readValue(line, ZdtmResult.class);
            }
        } catch (TimeoutException | ExecutionException e) {
            // Told below.
        }
        kill();
        return new ZdtmResult(test, way, Verdict.ERROR, "no answer of the engine", LIMIT.toMillis());
    }

    private String answer() {
        try {
            return answers.readLine();
        } catch (IOException e) {
            return null;
        }
    }

    // A session of its own: Ctrl-C ends whoever gives the orders, and the end of the orders lets it clear away.
    private void start() throws IOException {
        process = new ProcessBuilder(List.of(
                        "setsid",
                        "unshare",
                        "--net",
                        "--",
                        "sh",
                        "-c",
                        "ip link set lo up && exec \"$@\"",
                        "zdtm-worker",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xmx256m",
                        "-XX:+UseSerialGC",
                        "-cp",
                        System.getProperty("java.class.path"),
                        ZdtmWorker.class.getName(),
                        suite.folder().toString(),
                        home.toString()))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        answers = new BufferedReader(new InputStreamReader(process.getInputStream(), StandardCharsets.UTF_8));
        orders = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
    }

    private void kill() {
        process.descendants().forEach(ProcessHandle::destroyForcibly);
        process.destroyForcibly();
        process = null;
    }

    /** Lets it clear away and end. */
    @Override
    public void close() throws InterruptedException {
        if (process != null) {
            orders.close();
            if (!process.waitFor(60, TimeUnit.SECONDS)) {
                kill();
            }
        }
    }
}
