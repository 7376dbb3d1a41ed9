package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;

/**
 * What all benchmarks share: an engine with its home, a key, folders on a disk, and the measured program.
 *
 * <ol>
 *   <li>Folders are below /var/tmp: a disk, as in an agent's workspace, for both sides of every comparison.
 *   <li>The program of {@link #hold} fills memory that is half random, half zero in every page, as the facts were
 *       measured with.
 *   <li>{@link #close} ends every stage that is left and removes everything.
 * </ol>
 */
final class BenchRig implements AutoCloseable {

    private static final Duration LIMIT = Duration.ofMinutes(2);

    final Path folder;
    final Path work;
    final Engine engine;
    final ImageKey key = ImageKey.generate();
    final RawCriu raw;
    final int runs;
    final Duration life;
    /** Whether rows without a goal are left out. */
    final boolean goalsOnly;

    private Path program;

    BenchRig(int runs, Duration life, boolean goalsOnly) throws IOException {
        this.runs = runs;
        this.life = life;
        this.goalsOnly = goalsOnly;
        folder = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-bench-");
        work = Files.createDirectory(folder.resolve("work"));
        engine = Engine.open(folder.resolve("home"));
        raw = new RawCriu(
                new CriuSearch()
                        .usable()
                        .orElseThrow(() -> new IOException("no usable criu; run .ci/setup"))
                        .program(),
                folder.resolve("raw"));
        Files.createDirectory(folder.resolve("raw"));
        Runtime.getRuntime().addShutdownHook(new Thread(this::closeQuietly));
    }

    // Interrupted by Ctrl-C or a time limit: a thousand processes must not stay behind.
    private void closeQuietly() {
        try {
            close();
        } catch (IOException | RuntimeException e) {
            System.err.println("preempt: not all of the benchmark could be cleared away: " + e + ".");
        }
    }

    /** Fewer runs where each takes long, unless only what has a goal is measured. */
    int runsFor(long megabytes) {
        return megabytes >= 1024 && !goalsOnly ? Math.max(1, (runs + 1) / 2) : runs;
    }

    /** The argument vector of a program that holds memory in a number of processes, and tells {@code ready} when it does. */
    List<String> hold(int processes, double megabytesEach, Path ready) throws IOException, InterruptedException {
        Files.deleteIfExists(ready);
        return List.of(
                program().toString(),
                Integer.toString(processes),
                Long.toString(Math.round(megabytesEach * 1024)),
                ready.toString());
    }

    private Path program() throws IOException, InterruptedException {
        if (program == null) {
            program = compiled("hold");
        }
        return program;
    }

    /** A program of which the source lies beside this class. */
    Path compiled(String name) throws IOException, InterruptedException {
        Path source = folder.resolve(name + ".c");
        try (var in = BenchRig.class.getResourceAsStream(name + ".c")) {
            Files.write(source, in.readAllBytes());
        }
        Path made = folder.resolve(name);
        Process gcc = new ProcessBuilder("gcc", "-O2", "-o", made.toString(), source.toString())
                .redirectErrorStream(true)
                .start();
        String words = new String(gcc.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (gcc.waitFor() != 0) {
            throw new IOException("gcc: " + words);
        }
        return made;
    }

    /** Starts a stage. */
    StageId start(List<String> command) {
        return start(command, Map.of("PATH", System.getenv("PATH")));
    }

    StageId start(List<String> command, Map<String, String> environment) {
        return engine.start(new StageSpec(StageId.create("bench"), "bench", work, command, environment))
                .id();
    }

    /** Starts a stage of {@link #hold}, and returns when all its memory is there. */
    StageId holding(int processes, double megabytesEach) throws IOException, InterruptedException {
        Path ready = work.resolve("ready");
        StageId id = start(hold(processes, megabytesEach, ready));
        until("memory filled", () -> Files.exists(ready));
        return id;
    }

    /** What {@link #seal} made, and the milliseconds from frozen to there. */
    record Sealed(double millis, Checkpoint checkpoint) {}

    /**
     * Freezes, dumps and seals, at normal priority: no host has as much free memory as is asked for, so the caller counts
     * as one that waits. An idle dump would wait for whatever else the machine does. The stage stays frozen.
     */
    Sealed seal(StageId id, Path archive) throws Exception {
        Files.deleteIfExists(archive);
        engine.freeze(id, new FreezeRequest(DumpGuard.NONE, Long.MAX_VALUE));
        Checkpoint[] made = new Checkpoint[1];
        double millis = millis(() -> made[0] = engine.dump(id, archive, key, IfDumpFails.THAW));
        return new Sealed(millis, made[0]);
    }

    /** The same, and ends the frozen tree. */
    Checkpoint suspend(StageId id, Path archive) throws Exception {
        Sealed sealed = seal(id, archive);
        engine.commit(id);
        return sealed.checkpoint();
    }

    /**
     * Starts a plain process, dumps it away, and restores it.
     *
     * <p>A new one each time: it starts with nothing that a restore has left.
     *
     * @param packed whether what was dumped is packed and unpacked in between
     * @return the milliseconds of the dump, of the restore, and of the unpacking (0 without)
     */
    double[] rawDumpAndRestore(List<String> hold, boolean packed) throws Exception {
        double[] unpacked = new double[1];
        double[] rest = rawDumpAndRestore(hold, () -> {
            if (packed) {
                Path file = raw.pack();
                raw.clear();
                unpacked[0] = millis(() -> raw.unpack(file));
                Files.delete(file);
            }
        });
        return new double[] {rest[0], rest[1], unpacked[0]};
    }

    /**
     * The same, with anything in between.
     *
     * @return the milliseconds of the dump and of the restore
     */
    double[] rawDumpAndRestore(List<String> hold, Timed between) throws Exception {
        Path ready = Path.of(hold.get(hold.size() - 1));
        Process process = raw.start(hold);
        List<Long> below = List.of();
        try (Orphans orphans = Orphans.adopted()) {
            try {
                until("raw memory filled", () -> Files.exists(ready));
                raw.clear();
                below = process.descendants().map(ProcessHandle::pid).toList();
                double dumped = millis(() -> raw.dump(process.pid(), false));
                process.waitFor();
                orphans.reap(below);
                between.run();
                return new double[] {dumped, millis(raw::restore)};
            } finally {
                ProcessHandle.of(process.pid()).ifPresent(p -> {
                    p.descendants().forEach(ProcessHandle::destroyForcibly);
                    p.destroyForcibly();
                });
                process.waitFor();
                orphans.reap(List.of(process.pid()));
                orphans.reap(below);
                raw.clear();
            }
        }
    }

    void end(StageId id) {
        engine.kill(id);
        engine.forget(id);
    }

    Path archive(String name) {
        return folder.resolve(name + ".image");
    }

    static void until(String what, BooleanSupplier condition) throws InterruptedException {
        if (!within(LIMIT, condition)) {
            throw new IllegalStateException("not within " + LIMIT + ": " + what);
        }
    }

    private static boolean within(Duration limit, BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + limit.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end > 0) {
                return false;
            }
            Thread.sleep(2);
        }
        return true;
    }

    /** What is timed. */
    interface Timed {
        void run() throws Exception;
    }

    static double millis(Timed timed) throws Exception {
        long begun = System.nanoTime();
        timed.run();
        return (System.nanoTime() - begun) / 1e6;
    }

    @Override
    public void close() throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        ProcessHandle.allProcesses()
                .filter(p -> p.info()
                        .command()
                        .filter(c -> c.startsWith(folder.toString()))
                        .isPresent())
                .forEach(ProcessHandle::destroyForcibly);
        for (StageStatus stage : engine.list()) {
            end(stage.id());
        }
        StageFolder.delete(folder);
    }
}
