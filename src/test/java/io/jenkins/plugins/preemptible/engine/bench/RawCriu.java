package io.jenkins.plugins.preemptible.engine.bench;

import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * The other side of the comparisons: criu as it comes, on a plain process.
 *
 * <ol>
 *   <li>The process is started by setsid with nothing open but /dev/null, so that plain {@code criu dump} takes it.
 *   <li>Packing is what people put into a shell line: {@code tar | zstd -1 -T2}.
 *   <li>A restore is detached, as its time must not include the process's life.
 * </ol>
 */
final class RawCriu {

    private final Path criu;
    private final Path folder;

    RawCriu(Path criu, Path folder) {
        this.criu = criu;
        this.folder = folder;
    }

    Path images() {
        return folder.resolve("images");
    }

    /** Starts a process of its own session; it is a child of this JVM. */
    Process start(List<String> command) throws IOException {
        // setsid execs when it is no group leader, which a child of the JVM is not.
        List<String> own = new ArrayList<>(List.of("setsid"));
        own.addAll(command);
        return new ProcessBuilder(own)
                .directory(new File("/"))
                .redirectInput(new File("/dev/null"))
                .redirectOutput(new File("/dev/null"))
                .redirectError(new File("/dev/null"))
                .start();
    }

    /** Empties the folder of images. */
    void clear() throws IOException {
        StageFolder.delete(images());
        Files.createDirectories(images());
    }

    /** Dumps; the process runs on when {@code leave} is set, else it is gone. */
    void dump(long pid, boolean leave) throws Exception {
        List<String> command = new ArrayList<>(List.of(
                criu.toString(), "dump", "-t", Long.toString(pid), "-D", images().toString(), "-o", "dump.log"));
        if (leave) {
            command.add("--leave-running");
        }
        run(command);
    }

    /** Restores what was dumped last; returns its process id. */
    long restore() throws Exception {
        Path pid = folder.resolve("pid");
        Files.deleteIfExists(pid);
        run(List.of(
                criu.toString(),
                "restore",
                "-D",
                images().toString(),
                "-o",
                "restore.log",
                "-d",
                "--pidfile",
                pid.toString()));
        return Long.parseLong(Files.readString(pid).trim());
    }

    /** Packs what was dumped last. */
    Path pack() throws Exception {
        Path packed = folder.resolve("images.tar.zst");
        Files.deleteIfExists(packed);
        run(List.of(
                "/bin/sh",
                "-c",
                "tar -C \"$1\" -cf - . | zstd -q -1 -T2 -o \"$2\"",
                "pack",
                images().toString(),
                packed.toString()));
        return packed;
    }

    /** Unpacks what {@link #pack} made, into the folder of images. */
    void unpack(Path packed) throws Exception {
        run(List.of(
                "/bin/sh",
                "-c",
                "zstd -q -d -c \"$2\" | tar -C \"$1\" -xf -",
                "unpack",
                images().toString(),
                packed.toString()));
    }

    /** How CRIU learned what the kernel can do, which is a large part of a small restore; one sentence. */
    String kernelFeatures() {
        return Files.exists(Path.of("/run/criu.kdat"))
                ? "On both sides CRIU read from a file on `/run` what the kernel can do."
                : "On both sides CRIU found out anew in each run what the kernel can do, which takes it about 25 ms: it keeps that on "
                        + "`/run` only, if that is a tmpfs, and here it is none.";
    }

    /** Forces a file and its name to disk. */
    static void sync(Path file) throws IOException {
        for (Path each : List.of(file, file.getParent())) {
            try (FileChannel channel = FileChannel.open(each, StandardOpenOption.READ)) {
                channel.force(true);
            }
        }
    }

    static void run(List<String> command) throws Exception {
        Path words = Files.createTempFile("bench", ".log");
        try {
            Process process = new ProcessBuilder(command)
                    .directory(new File("/"))
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(words.toFile())
                    .redirectErrorStream(true)
                    .start();
            if (process.waitFor() != 0) {
                throw new IOException(command + ": " + new String(Files.readAllBytes(words), StandardCharsets.UTF_8));
            }
        } finally {
            Files.deleteIfExists(words);
        }
    }
}
