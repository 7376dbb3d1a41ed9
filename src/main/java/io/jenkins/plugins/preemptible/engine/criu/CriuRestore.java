package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.List;
import java.util.Optional;

/** One run of {@code criu restore}, from its start until it has ended or is given up. */
final class CriuRestore {

    private static final Duration LIMIT = Duration.ofMinutes(30);
    /** CRIU logs this when all sockets exist and none was used yet. */
    private static final String UNLOCKED = "Unlock network";
    /** CRIU seldom writes more after that line while it is waited for. */
    private static final int END_BYTES = 8192;

    private CriuRestore() {}

    /**
     * What is run.
     *
     * @param bare whether the command brings its environment along
     * @param gate null where criu does not wait before the tree runs
     * @param check asked while it waits
     */
    record Start(List<String> command, boolean bare, CriuGate gate, RestoreCheck check) {}

    /**
     * @param lock closed as soon as criu has made all sockets
     * @return the init's process id on this host
     * @throws CriuException with the reason; then the processes that were made are killed
     */
    static long run(Start start, StageFolder folder, Freezer freezer, ConnectionLock lock)
            throws CriuException, IOException {
        Path log = folder.logs().resolve("restore.log");
        Path running = folder.logs().resolve(Criu.RUNNING);
        Path words = folder.logs().resolve("restore.out");
        Process process = CriuRun.startRestore(start.command(), start.bare(), words);
        boolean restored = false;
        boolean waits = start.gate() != null;
        Optional<HostProcess> root = Optional.empty();
        try {
            long limit = System.nanoTime() + LIMIT.toNanos();
            while (!restored) {
                boolean alive = process.isAlive();
                if (root.isEmpty() && freezer.cgroup().isEmpty()) {
                    root = namespaceInit(process);
                }
                restored = answered(process) || !Files.exists(running);
                if (waits && start.gate().reached()) {
                    start.check().require();
                    start.gate().open();
                    waits = false;
                }
                if (lock.holds() && endOf(log).contains(UNLOCKED)) {
                    lock.close();
                }
                if (!restored && !alive && process.exitValue() == Criu.KILLED) {
                    throw new CriuException(FailureReason.CRIU_KILLED, List.of());
                }
                if (!restored && !alive) {
                    throw Criu.failure(folder, "restore.log", words);
                }
                if (!restored && System.nanoTime() - limit > 0) {
                    throw new CriuException(FailureReason.CRIU_FAILED, List.of("no end in time"));
                }
                if (!restored) {
                    Thread.sleep(1);
                }
            }
            return Long.parseLong(
                    Files.readString(folder.logs().resolve("restore.pid")).trim());
        } catch (InterruptedException e) {
            restored = false;
            Thread.currentThread().interrupt();
            throw new CriuException(FailureReason.CRIU_FAILED, List.of("interrupted"));
        } finally {
            process.getInputStream().close();
            if (!restored) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly();
                // When its parent was killed, it is no descendant of this process, and no control group holds it.
                root.filter(HostProcess::alive).ifPresent(init -> LibC.kill(init.pid(), LibC.SIGKILL));
            }
        }
    }

    // The file is removed a little later, for a process that comes after this one.
    private static boolean answered(Process process) throws IOException {
        return process.getInputStream().available() > 0;
    }

    private static Optional<HostProcess> namespaceInit(Process criu) {
        return criu.descendants()
                .filter(child -> Proc.innerPid(child.pid()) == 1)
                .findFirst()
                .flatMap(child -> HostProcess.of(child.pid()));
    }

    // Its last lines: of a large tree the log has megabytes, and it is read every few milliseconds.
    private static String endOf(Path log) throws IOException {
        if (!Files.exists(log)) {
            return "";
        }
        try (FileChannel channel = FileChannel.open(log, StandardOpenOption.READ)) {
            ByteBuffer end = ByteBuffer.allocate(END_BYTES);
            long from = Math.max(0, channel.size() - END_BYTES);
            while (end.hasRemaining() && channel.read(end, from + end.position()) >= 0) {}
            return new String(end.array(), 0, end.position(), StandardCharsets.ISO_8859_1);
        }
    }
}
