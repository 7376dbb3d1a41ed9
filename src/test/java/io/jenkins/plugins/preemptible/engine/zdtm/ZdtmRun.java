package io.jenkins.plugins.preemptible.engine.zdtm;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Verdict;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Way;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * One test, run as a stage.
 *
 * <ol>
 *   <li>Its own {@code make TEST.pid} is the stage's command: the test says that it is ready by that file.
 *   <li>After the cycles it is told to look at what it has (SIGTERM), and writes its verdict into {@code TEST.out}.
 *   <li>The stage is killed and forgotten, whatever came.
 * </ol>
 *
 * @param home where the engine keeps its stages
 */
record ZdtmRun(ZdtmSuite suite, Path home, Engine engine, ImageKey key) {

    /** For each wait of a test; most take a second. */
    private static final Duration LIMIT = Duration.ofSeconds(40);
    /** The last line is the verdict, behind time and process. */
    private static final Pattern PASSED = Pattern.compile("\\bPASS$");
    /** What a test of the folder {@code transition} gets to be in the middle of something. */
    private static final long TRANSITION_MILLIS = 300;
    /** With less memory than that the executor would be free after the dump, which is then not made at idle priority. */
    private static final FreezeRequest NOT_IDLE = new FreezeRequest(DumpGuard.NONE, 1L << 60);
    /** About as long as a suspension and a resume take: what time alone changes must show without them. */
    private static final long UNDISTURBED_MILLIS = 3000;

    ZdtmResult run(String test, Way way) throws IOException, InterruptedException {
        long begun = System.nanoTime();
        Outcome outcome = outcome(test, way);
        return new ZdtmResult(test, way, outcome.verdict(), outcome.reason(), (System.nanoTime() - begun) / 1_000_000);
    }

    private record Outcome(Verdict verdict, String reason) {}

    private Outcome outcome(String test, Way way) throws IOException, InterruptedException {
        Path check = suite.beside(test, ".checkskip");
        if (Files.isExecutable(check)) {
            HostTool.Answer answer = HostTool.run(20, List.of(check.toString()));
            if (!answer.ok()) {
                return new Outcome(Verdict.SKIPPED, "its own check says so");
            }
        }
        ZdtmHook hook = ZdtmHook.of(suite, test, home);
        hook.clean();
        clean(suite, test);
        String name = Path.of(test).getFileName().toString();
        Map<String, String> environment = new HashMap<>(Map.of("TMPDIR", "/tmp", "PATH", System.getenv("PATH")));
        StageId id = StageId.create("zdtm-" + name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]+", "-"));
        try {
            engine.start(new StageSpec(
                    id,
                    test,
                    suite.workDir(test),
                    List.of("make", "--no-print-directory", name + ".pid"),
                    environment));
            boolean hooked = hook.call(ZdtmHook.STARTED, 0);
            Path pid = suite.beside(test, ".pid");
            if (!until(() -> size(pid) > 0 || exited(id)) || size(pid) == 0) {
                return new Outcome(Verdict.NOT_STARTED, lastWords(id, test));
            }
            if (!hooked) {
                return new Outcome(Verdict.NOT_STARTED, "its hook fails " + ZdtmHook.STARTED);
            }
            if (test.startsWith("transition/")) {
                Thread.sleep(TRANSITION_MILLIS);
            }
            return cycled(id, test, way, hook);
        } catch (EngineException e) {
            return new Outcome(Verdict.NOT_STARTED, e.getMessage());
        } finally {
            if (engine.list().stream().anyMatch(s -> s.id().equals(id))) {
                engine.kill(id);
                engine.forget(id);
            }
            hook.clean();
            Files.deleteIfExists(archive());
        }
    }

    private Outcome cycled(StageId id, String test, Way way, ZdtmHook hook) throws IOException, InterruptedException {
        Optional<Outcome> refused = Optional.empty();
        boolean hooked = true;
        try {
            // A hook is called also where nothing is suspended: the test waits for what it sends.
            for (int i = 0; i < (way == Way.TWICE ? 2 : 1) && refused.isEmpty(); i++) {
                hooked &= hook.call(ZdtmHook.BEFORE_DUMP, outerPid(id, test));
                if (way == Way.UNDISTURBED) {
                    Thread.sleep(UNDISTURBED_MILLIS);
                } else {
                    refused = suspended(id);
                }
                if (way == Way.ARCHIVE && refused.isEmpty()) {
                    StageFolder.delete(new StageFolder(home.resolve("stages").resolve(id.value())).images());
                }
                hooked &= hook.call(ZdtmHook.BEFORE_RESTORE, 0);
                if (way != Way.UNDISTURBED && refused.isEmpty()) {
                    engine.resume(archive(), key);
                }
                hooked &= hook.call(ZdtmHook.RESTORED, outerPid(id, test));
            }
        } catch (ResumeFailedException e) {
            return new Outcome(Verdict.ERROR, told(e, id, suite));
        }
        String verdict = verdict(id, test);
        if (verdict.isEmpty() && !hooked) {
            verdict = "its hook found something wrong";
        }
        if (!verdict.isEmpty()) {
            return new Outcome(
                    Verdict.FAIL, refused.map(r -> r.reason() + ", and then: ").orElse("") + verdict);
        }
        return refused.orElse(new Outcome(Verdict.PASS, ""));
    }

    /** The steps of {@link Engine#suspend} one by one, since the first alone refuses before anything is stopped. */
    private Optional<Outcome> suspended(StageId id) {
        Verdict refused = Verdict.REFUSED;
        try {
            engine.freeze(id, NOT_IDLE);
            refused = Verdict.REFUSED_LATE;
            engine.dump(id, archive(), key, IfDumpFails.THAW);
            engine.commit(id);
            return Optional.empty();
        } catch (SuspendFailedException e) {
            if (engine.status(id).state() == StageStatus.State.SUSPENDING) {
                engine.thaw(id);
            }
            return Optional.of(new Outcome(refused, told(e, id, suite)));
        }
    }

    private long outerPid(StageId id, String test) throws IOException {
        Path pid = suite.beside(test, ".pid");
        return Files.exists(pid)
                ? ZdtmHook.outerPid(
                        engine.status(id).initPid(), Files.readString(pid).trim())
                : 0;
    }

    /** Without what differs from run to run: the suite's folder and process ids. */
    static String told(EngineException e, StageId id, ZdtmSuite suite) {
        String detail = e.detail() == null || e.detail().equals(id.value()) ? "" : ": " + e.detail();
        return (e.reason()
                        + (e.criuLines().isEmpty()
                                ? detail
                                : ": " + e.criuLines().get(0)))
                .replace(suite.zdtm() + "/", "")
                .replaceAll("process \\d+ ", "process ");
    }

    /** Returns why the test did not pass; empty when it did. */
    private String verdict(StageId id, String test) throws IOException, InterruptedException {
        Path out = suite.beside(test, ".out");
        String pid = Files.exists(suite.beside(test, ".pid"))
                ? Files.readString(suite.beside(test, ".pid")).trim()
                : "";
        // Without one it has ended and said why.
        if (pid.matches("\\d+")) {
            List<String> command = new ArrayList<>(engine.enterCommand(id).words());
            command.addAll(List.of("/bin/sh", "-c", "kill -TERM \"$1\"", "zdtm-stop", pid));
            HostTool.Answer answer = HostTool.run(20, command);
            if (!answer.ok() && !Files.exists(out)) {
                return "it ended before it was asked: " + lastWords(id, test);
            }
        }
        if (!until(() -> Files.exists(out))) {
            return "no verdict within " + LIMIT.toSeconds() + " s: " + lastWords(id, test);
        }
        return PASSED.matcher(text(out).strip()).find() ? "" : lastWords(id, test);
    }

    private boolean exited(StageId id) {
        return Files.exists(home.resolve("stages").resolve(id.value()).resolve("exit"));
    }

    /** What the test said last that tells of an error, or last at all. */
    private String lastWords(StageId id, String test) throws IOException {
        List<String> lines = new ArrayList<>();
        for (Path file : List.of(suite.beside(test, ".out"), suite.beside(test, ".out.inprogress"))) {
            lines.addAll(text(file)
                    .lines()
                    .map(String::strip)
                    .filter(l -> !l.isEmpty())
                    .toList());
        }
        if (lines.isEmpty()) {
            lines.addAll(text(engine.status(id).output())
                    .lines()
                    .filter(l -> !l.startsWith("make"))
                    .toList());
        }
        lines.replaceAll(l -> l.replaceFirst("^[\\d:.]+ +\\d+: +", ""));
        return lines.stream()
                .filter(l -> l.contains("ERR") || l.contains("FAIL"))
                .findFirst()
                .orElse(lines.isEmpty() ? "it says nothing" : lines.get(lines.size() - 1));
    }

    private static String text(Path file) throws IOException {
        return file != null && Files.isRegularFile(file) ? Files.readString(file, StandardCharsets.ISO_8859_1) : "";
    }

    private static long size(Path file) {
        return file.toFile().length();
    }

    private Path archive() {
        return home.resolve("zdtm.image");
    }

    /** Removes what earlier runs of a test left. */
    static void clean(ZdtmSuite suite, String test) throws IOException {
        String name = Path.of(test).getFileName().toString();
        HostTool.run(
                20,
                List.of(
                        "make",
                        "--no-print-directory",
                        "-C",
                        suite.workDir(test).toString(),
                        name + ".cleanout"));
        try (Stream<Path> left = Files.list(suite.workDir(test))) {
            for (Path each : left.filter(p -> p.getFileName()
                            .toString()
                            .matches(Pattern.quote(name) + "\\.(pid|out|out\\.inprogress|test.*|.*\\.test)"))
                    .toList()) {
                StageFolder.delete(each);
            }
        }
    }

    private static boolean until(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + LIMIT.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end > 0) {
                return false;
            }
            Thread.sleep(20);
        }
        return true;
    }
}
