package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.compat.ProgramTrial;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.regex.Pattern;
import java.util.stream.Collectors;

/**
 * Runs a program once undisturbed, and once more suspended in the middle of its work and resumed, twice.
 *
 * <ol>
 *   <li>A {@link Progress} tells how far it is: it is suspended when there is some, and again when there is more. It goes
 *       on from the image that is still on this host at first, and from the sealed archive the second time.
 *   <li>Both runs have to end with the same exit code and the same {@link Result}.
 *   <li>A program that ends too soon to be suspended twice is a failure: its work is too small.
 * </ol>
 */
final class TwiceSuspended {

    private static final Duration LIMIT = Duration.ofMinutes(5);

    /** How far a run is: any number that grows while it works, 0 before. */
    @FunctionalInterface
    interface Progress {
        long of(Run run);

        /** Lines of the stage's output that match. */
        static Progress lines(String pattern) {
            return run -> count(run.output(), pattern);
        }

        /** Lines of a file of the working folder that match. */
        static Progress linesOf(String file, String pattern) {
            return run -> count(run.folder().resolve(file), pattern);
        }

        /** Bytes of a file of the working folder. */
        static Progress size(String file) {
            return run -> run.folder().resolve(file).toFile().length();
        }

        /** Files below the working folder whose names end so. */
        static Progress files(String suffix) {
            return run -> {
                try (var all = Files.walk(run.folder())) {
                    return all.filter(p -> p.toString().endsWith(suffix)).count();
                } catch (IOException | java.io.UncheckedIOException e) {
                    // A file that vanished meanwhile: asked again.
                    return 0;
                }
            };
        }
    }

    /** What both runs must have in common. */
    @FunctionalInterface
    interface Result {
        String of(Run run) throws IOException;

        /** Lines of the stage's output that match, in order. */
        static Result lines(String pattern) {
            return run -> Files.readAllLines(run.output()).stream()
                    .filter(Pattern.compile(pattern).asPredicate())
                    .collect(Collectors.joining("\n"));
        }

        /** All of the stage's output. */
        static Result output() {
            return lines("");
        }
    }

    /** One run: its working folder and its output. */
    record Run(Path folder, Path output) {}

    private final ProgramTrial trial;
    private final StageBench bench;
    private final Map<String, String> environment;

    TwiceSuspended(ProgramTrial trial, StageBench bench) {
        this.trial = trial;
        this.bench = bench;
        this.environment = new TreeMap<>(System.getenv());
    }

    /** Adds a variable to the environment of both runs. */
    TwiceSuspended with(String name, String value) {
        environment.put(name, value);
        return this;
    }

    /**
     * @param prepared files that each run finds in its working folder
     * @return the disturbed run
     */
    Run compare(List<Path> prepared, List<String> command, Progress progress, Result result) throws Exception {
        StageId id = StageId.create("undisturbed");
        Run plain = start(id, prepared, command);
        int exit = end(id);
        String expected = result.of(plain);
        assertFalse(expected.isBlank(), () -> "the undisturbed run has no result; its output: " + tail(plain));

        StageId other = StageId.create("disturbed");
        Run run = start(other, prepared, command);
        long before = 0;
        for (int i = 1; i <= 2; i++) {
            long reached = before;
            StageBench.until(
                    "progress of the run beyond " + reached,
                    LIMIT,
                    () -> progress.of(run) > reached
                            || bench.engine.status(other).state() != State.RUNNING);
            assertEquals(
                    State.RUNNING,
                    bench.engine.status(other).state(),
                    () -> "it ended before its suspension; its output: " + tail(run));
            // Asks for so much memory that somebody waits for the dump: else it would yield to every other process.
            bench.engine.freeze(other, new FreezeRequest(DumpGuard.NONE, Long.MAX_VALUE));
            trial.suspended(bench.engine.dump(other, bench.archive(other), bench.key, IfDumpFails.THAW));
            bench.engine.commit(other);
            before = progress.of(run);
            if (i == 2) {
                // Else the image that is still on this host would be taken again.
                StageFolder.delete(
                        new StageFolder(bench.folder.resolve("home/stages").resolve(other.value())).images());
                assertEquals(
                        Tier.ARCHIVE,
                        bench.engine.resume(bench.archive(other), bench.key).tier());
            } else {
                bench.engine.resume(bench.archive(other), bench.key);
            }
            trial.resumed();
        }
        int otherExit = end(other);
        assertEquals(expected, result.of(run), () -> "the result differs; its output: " + tail(run));
        assertEquals(exit, otherExit, () -> "the exit code differs; its output: " + tail(run));
        return run;
    }

    private Run start(StageId id, List<Path> prepared, List<String> command) throws IOException {
        // The same length of name for both: some programs print or store where they are.
        Path folder = Files.createDirectory(
                bench.work.resolve("run" + id.value().substring(id.value().length() - 4)));
        for (Path file : prepared) {
            copy(file, folder.resolve(file.getFileName()));
        }
        bench.engine.start(new StageSpec(id, id.value(), folder, command, environment));
        return new Run(folder, bench.engine.status(id).output());
    }

    private static void copy(Path from, Path to) throws IOException {
        try (var all = Files.walk(from)) {
            for (Path file : all.toList()) {
                Files.copy(file, to.resolve(from.relativize(file)), java.nio.file.StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
    }

    private int end(StageId id) throws InterruptedException {
        StageBench.until("the end of the run", LIMIT, () -> switch (bench.engine
                .status(id)
                .state()) {
            case ENDED, FAILED, KILLED -> true;
            default -> false;
        });
        return bench.engine.await(id);
    }

    private static long count(Path file, String pattern) {
        try (var lines = Files.lines(file)) {
            return lines.filter(Pattern.compile(pattern).asPredicate()).count();
        } catch (IOException | java.io.UncheckedIOException e) {
            return 0;
        }
    }

    private static String tail(Run run) {
        List<String> lines = new ArrayList<>();
        try {
            lines.addAll(Files.readAllLines(run.output()));
        } catch (IOException | java.io.UncheckedIOException e) {
            lines.add(String.valueOf(e.getMessage()));
        }
        return String.join(" / ", lines.subList(Math.max(0, lines.size() - 15), lines.size()));
    }
}
