package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.home.LocalImages;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.BooleanSupplier;

/**
 * Folders, an engine and a key for tests with real stages; everything is ended and removed at its close.
 *
 * <ol>
 *   <li>{@link #open} skips the test, saying why, where this host cannot suspend stages.
 *   <li>Folders are below /var/tmp: a disk, as in an agent's workspace.
 *   <li>{@link #close} kills every stage that is left.
 * </ol>
 */
public final class StageBench implements AutoCloseable {

    final Path folder;
    final Path work;
    final Engine engine;
    final ImageKey key = ImageKey.generate();

    private StageBench(FreezerKind freezer, Path home, LocalImages localImages, CriuSearch criu, boolean checkpoints)
            throws IOException {
        folder = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible test ");
        work = Files.createDirectory(folder.resolve("work"));
        engine = Engines.direct(home == null ? folder.resolve("home") : home, criu, freezer, localImages, checkpoints);
    }

    static StageBench open() throws IOException {
        return open(null, null);
    }

    /** Keeps no local images. */
    static StageBench openForArchives() throws IOException {
        return open(null, null, new LocalImages(false, 0), new CriuSearch());
    }

    /** With these criu programs only. */
    static StageBench openWith(CriuSearch criu) throws IOException {
        return open(null, null, new LocalImages(true, 0), criu);
    }

    /** With this freezer only; skips the test where the host does not have it. */
    static StageBench openWith(FreezerKind freezer) throws IOException {
        try {
            FreezerKind.create(StageId.create("probe"), freezer).remove();
        } catch (IOException e) {
            assumeTrue(false, "this host has no freezer of kind " + freezer + ": " + e.getMessage());
        }
        return open(freezer, null);
    }

    /** Makes no images, and has no criu. */
    static StageBench openInMemoryOnly() throws IOException {
        return open(null, null, new LocalImages(true, 0), new CriuSearch(List.of()), false);
    }

    static StageBench open(FreezerKind freezer, Path home) throws IOException {
        return open(freezer, home, new LocalImages(true, 0), new CriuSearch());
    }

    private static StageBench open(FreezerKind freezer, Path home, LocalImages localImages, CriuSearch criu)
            throws IOException {
        return open(freezer, home, localImages, criu, true);
    }

    private static StageBench open(
            FreezerKind freezer, Path home, LocalImages localImages, CriuSearch criu, boolean checkpoints)
            throws IOException {
        StageBench bench = new StageBench(freezer, home, localImages, criu, checkpoints);
        HostReport report = bench.engine.check();
        if (!report.ok()) {
            bench.close();
        }
        assumeTrue(report.ok(), () -> "this host cannot suspend stages: " + report.missing());
        return bench;
    }

    /** Skips a test whose stage has TCP connections between its own processes where this host's CRIU refuses those. */
    static void assumeConnections() {
        CriuSearch search = new CriuSearch();
        assumeTrue(
                search.usable().map(Criu::carriesConnections).orElse(true),
                "this host's CRIU is too old for TCP connections inside of a stage");
    }

    StageStatus start(String... command) {
        return engine.start(new StageSpec(StageId.create("test"), "test", work, List.of(command), null));
    }

    StageStatus script(String text) {
        return start("/bin/sh", "-c", text);
    }

    /** Frozen, dumped, and waiting for commit or thaw. */
    Checkpoint dump(StageId id, DumpGuard guard) {
        engine.freeze(id, new FreezeRequest(guard, FreezeRequest.DEFAULT_MEMORY_FLOOR));
        return engine.dump(id, archive(id), key, IfDumpFails.THAW);
    }

    Path archive(StageId id) {
        return folder.resolve(id + ".image");
    }

    List<String> output(StageId id) throws IOException {
        return Files.readAllLines(engine.status(id).output());
    }

    static void copy(Path from, Path to) throws IOException {
        Files.createDirectory(to);
        try (var files = Files.list(from)) {
            for (Path file : files.toList()) {
                Files.copy(file, to.resolve(file.getFileName()));
            }
        }
    }

    static void delete(Path path) throws IOException {
        StageFolder.delete(path);
    }

    /** @param usual how long it may take on a usual host */
    public static void until(String what, Duration usual, BooleanSupplier condition) {
        Duration limit = TimeLimits.of(usual);
        long end = System.nanoTime() + limit.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError("not within " + limit + ": " + what);
            }
            try {
                Thread.sleep(5);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new AssertionError(e);
            }
        }
    }

    /** How many lines a file has, 0 while it is not there. */
    static long lines(Path file) {
        try (var lines = Files.lines(file)) {
            return lines.count();
        } catch (IOException | java.io.UncheckedIOException e) {
            return 0;
        }
    }

    @Override
    public void close() throws IOException {
        for (StageStatus stage : engine.list()) {
            engine.kill(stage.id());
            engine.forget(stage.id());
        }
        StageFolder.delete(folder);
    }
}
