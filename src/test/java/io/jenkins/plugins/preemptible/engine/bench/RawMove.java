package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Random;

/**
 * What a moved stage has, and how plain criu gets the same from one place to another: a dump, a copy of image and workspace, a
 * restore.
 *
 * <p>The memory is one process's; the workspace has a tenth of its size, in files of 64 KB.
 */
public final class RawMove implements AutoCloseable {

    private final BenchRig rig;
    private final int megabytes;

    public RawMove(int megabytes) throws IOException {
        this(new BenchRig(1, Duration.ofMinutes(2), false), megabytes);
    }

    RawMove(BenchRig rig, int megabytes) {
        this.rig = rig;
        this.megabytes = megabytes;
    }

    /** The argument vector of a program that holds the memory, and makes that file when it does. */
    public List<String> hold(Path ready) throws IOException, InterruptedException {
        return rig.hold(1, megabytes, ready);
    }

    /** Makes the files of a workspace. */
    public void fill(Path workspace) throws IOException {
        byte[] content = new byte[64 * 1024];
        Random random = new Random(megabytes);
        for (int file = 0; file < megabytes * 16 / 10; file++) {
            random.nextBytes(content);
            Arrays.fill(content, 0, content.length / 2, (byte) file);
            Path folder = Files.createDirectories(workspace.resolve("folder" + file % 10));
            Files.write(folder.resolve("file" + file), content);
        }
    }

    /** How a folder gets from one place to another one, which does not exist yet. */
    @FunctionalInterface
    public interface Copy {
        void of(Path from, Path to) throws Exception;

        /** As quick as one machine can. */
        Copy CP = (from, to) -> RawCriu.run(List.of("cp", "-a", from.toString(), to.toString()));
    }

    /** Milliseconds of all three together. */
    public double millis(Path workspace) throws Exception {
        return millis(workspace, Copy.CP);
    }

    /** The same with another copy. */
    public double millis(Path workspace, Copy copy) throws Exception {
        double[] copied = new double[1];
        Path away = Files.createDirectory(rig.folder.resolve("raw-copy"));
        double[] rest = rig.rawDumpAndRestore(
                hold(rig.folder.resolve("raw-ready")),
                () -> copied[0] = BenchRig.millis(() -> {
                    copy.of(workspace, away.resolve("workspace"));
                    copy.of(rig.raw.images(), away.resolve("images"));
                }));
        StageFolder.delete(away);
        return rest[0] + copied[0] + rest[1];
    }

    @Override
    public void close() throws IOException {
        rig.close();
    }
}
