package io.jenkins.plugins.preemptible.acceptance.faults;

import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jvnet.hudson.test.fixtures.RealJenkinsFixture;

/** A controller in a process of its own that can be killed and started again. */
final class ControllerProcess implements AutoCloseable {

    private static final Duration START = Duration.ofMinutes(5);
    private static final Path FAKE_CLOCK = Path.of("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1");

    private final RealJenkinsFixture jenkins = new RealJenkinsFixture();
    private final Path clock;
    private final Path folder;
    final FullDisk home;

    /**
     * Starts it.
     *
     * @param name no other one in this process has it
     * @param folder for everything, not below /tmp, where a stage would not see it
     * @param options of its Java
     */
    ControllerProcess(String name, Path folder, String... options) throws Throwable {
        this.folder = folder;
        home = new FullDisk(folder.resolve("controller"), "1500m");
        clock = Files.writeString(folder.resolve("clock"), "+0");
        jenkins.withTimeout(0).withName(name).prepareHomeLazily(true);
        jenkins.setHome(Files.createDirectory(home.folder().resolve("home")).toFile());
        Path scripts = Files.createDirectory(jenkinsHome().resolve("init.groovy.d"));
        // They would take agents with small or full disks offline. Jenkins forgets this at each start.
        Files.writeString(
                scripts.resolve("monitors.groovy"), "hudson.model.ComputerSet.monitors.each { it.ignored = true }");
        // The last one is for a short start.
        jenkins.javaOptions("-Xmx768m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1");
        jenkins.javaOptions(options);
        if (canSetClock()) {
            jenkins.extraEnv("LD_PRELOAD", FAKE_CLOCK.toString())
                    .extraEnv("FAKETIME_TIMESTAMP_FILE", clock.toString())
                    .extraEnv("FAKETIME_CACHE_DURATION", "1")
                    .extraEnv("FAKETIME_DONT_FAKE_MONOTONIC", "1")
                    // Without this waits of Java end at once, and each thread that waits takes a processor.
                    .extraEnv("FAKETIME_FORCE_MONOTONIC_FIX", "0")
                    .extraEnv("NO_FAKE_STAT", "1");
        }
        try {
            jenkins.setUp(ControllerProcess.class.getName(), name);
            start();
        } catch (Throwable x) {
            close();
            throw x;
        }
    }

    int port() throws Exception {
        return jenkins.getUrl().getPort();
    }

    /** Writes the program of its agents there. */
    void agentJar(Path jar) throws Exception {
        try (InputStream served =
                jenkins.getUrl().toURI().resolve("jnlpJars/agent.jar").toURL().openStream()) {
            Files.copy(served, jar);
        }
    }

    static boolean canSetClock() {
        return Files.exists(FAKE_CLOCK);
    }

    /** @param seconds from the true time */
    void setClock(int seconds) throws IOException {
        Path next = Files.writeString(folder.resolve("clock.next"), (seconds < 0 ? "" : "+") + seconds);
        Files.move(next, clock, java.nio.file.StandardCopyOption.ATOMIC_MOVE);
    }

    Path jenkinsHome() {
        return jenkins.getHome().toPath();
    }

    void start() throws Exception {
        jenkins.startJenkins();
    }

    /** As an administrator does. */
    void restart() throws Throwable {
        jenkins.stopJenkins();
        start();
    }

    void kill() throws InterruptedException {
        Process process = jenkins.getProcess();
        jenkins.stopJenkinsForcibly();
        process.waitFor(30, TimeUnit.SECONDS);
    }

    /** Asked again while the controller cannot answer. */
    <R extends java.io.Serializable> R ask(
            RealJenkinsFixture.StepWithReturnAndOneArg<R, String> step, String argument) {
        return answered(() -> jenkins.runRemotely(step, argument));
    }

    <R extends java.io.Serializable> R ask(
            RealJenkinsFixture.StepWithReturnAndTwoArgs<R, String, Integer> step, String job, int number) {
        return answered(() -> jenkins.runRemotely(step, job, number));
    }

    <R extends java.io.Serializable> R ask(RealJenkinsFixture.Step2<R> step) {
        return answered(() -> jenkins.runRemotely(step));
    }

    <R extends java.io.Serializable> R ask(
            RealJenkinsFixture.StepWithReturnAndTwoArgs<R, String, String> step, String first, String second) {
        return answered(() -> jenkins.runRemotely(step, first, second));
    }

    /** Done again while the controller cannot answer. */
    void call(RealJenkinsFixture.Step step) {
        answered(() -> {
            jenkins.runRemotely(step);
            return true;
        });
    }

    <T extends java.io.Serializable> void call(RealJenkinsFixture.StepWithOneArg<T> step, T argument) {
        answered(() -> {
            jenkins.runRemotely(step, argument);
            return true;
        });
    }

    <T extends java.io.Serializable, U extends java.io.Serializable> void call(
            RealJenkinsFixture.StepWithTwoArgs<T, U> step, T first, U second) {
        answered(() -> {
            jenkins.runRemotely(step, first, second);
            return true;
        });
    }

    /** Begins a build, once. */
    int schedule(String job, String seconds) {
        int number = ask(FaultJobs::nextNumber, job);
        return answered(() -> jenkins.runRemotely(FaultJobs::schedule, job, seconds, number));
    }

    @FunctionalInterface
    private interface Question<T> {
        T ask() throws Throwable;
    }

    private static <T> T answered(Question<T> question) {
        Object[] answer = new Object[1];
        await("the controller answers")
                .atMost(START)
                .pollInterval(Duration.ofMillis(200))
                .ignoreExceptions()
                .until(() -> {
                    try {
                        answer[0] = question.ask();
                        return true;
                    } catch (Exception x) {
                        throw x;
                    } catch (Throwable x) {
                        throw new IllegalStateException(x);
                    }
                });
        @SuppressWarnings("unchecked")
        T typed = (T) answer[0];
        return typed;
    }

    /** A stage's record, as its file has it now. */
    Optional<RecordedStage> stage(String id) {
        return RecordedStage.read(jenkinsHome().resolve("preemptible-stages").resolve(id + ".xml"));
    }

    /** The controller's record of a build's stage, as its file has it now. */
    Optional<RecordedStage> stage(String job, int number) {
        Path records = jenkinsHome().resolve("preemptible-stages");
        try (Stream<Path> files = Files.list(records)) {
            return files.filter(file -> file.toString().endsWith(".xml"))
                    .flatMap(file -> RecordedStage.read(file).stream())
                    .filter(stage -> stage.runId().equals(job + "#" + number))
                    .findFirst();
        } catch (IOException none) {
            return Optional.empty();
        }
    }

    @Override
    public void close() throws IOException, InterruptedException {
        if (jenkins.getProcess() != null) {
            kill();
        }
        home.close();
    }
}
