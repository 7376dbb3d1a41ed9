package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/**
 * One run of {@code criu dump}, which must never be killed.
 *
 * <ol>
 *   <li>A criu that dies while it works inside a process may take that process with it. So it is made the last one that
 *       the kernel would choose when memory is short, as far as its rights go.
 *   <li>It is ended through its limit of written bytes: {@code RLIMIT_FSIZE} 0 lets its next write fail as on a full
 *       disk, and it leaves every process as it found it. If it is killed all the same, its own children are ended.
 *   <li>Where it has to be idle it gets the lowest CPU and I/O priority, and back to normal when it has to end.
 * </ol>
 *
 * Sources: criu(8); setrlimit(2); sched(7), "The autogroup feature": without the group's own value nice has no effect
 * between sessions.
 */
public final class CriuRun {

    private static final Duration END_LIMIT = TimeLimits.of(Duration.ofSeconds(30));
    /** How long the kernel may take for a kill: a process that waits for a dead disk does not end before that answers. */
    private static final Duration KILL_LIMIT = TimeLimits.of(Duration.ofSeconds(10));

    private static final long POLL_MILLIS = 10;

    private CriuRun() {}

    /** The caller of a run; called on the thread that waits for criu. */
    public interface Watch {
        /** It has started, as this process. */
        void started(HostProcess criu) throws IOException;

        /** Whether it has to end. */
        boolean cancelled();
    }

    /**
     * Runs criu until it ends.
     *
     * @return its exit code
     * @throws CriuException when it was cancelled or took too long; criu has ended then
     */
    static int run(List<String> criu, Path words, boolean idle, Duration limit, Watch watch)
            throws IOException, CriuException {
        // A session of its own: nothing that a terminal sends reaches it, and its autogroup is its own.
        List<String> command = new ArrayList<>();
        HostTool.find("setsid").ifPresent(tool -> command.add(tool.toString()));
        command.addAll(List.of(
                "/bin/sh", "-c", Script.text(CriuRun.class, "dump.sh"), "preemptible-dump", idle ? "idle" : "normal"));
        command.addAll(criu);
        Process process = start(command, words);
        HostProcess self = HostProcess.of(process.pid()).orElse(null);
        boolean ended = false;
        boolean interrupted = false;
        try {
            if (self != null) {
                watch.started(self);
            }
            long end = System.nanoTime() + limit.toNanos();
            while (!ended && System.nanoTime() - end < 0 && !watch.cancelled()) {
                ended = process.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS);
            }
        } catch (InterruptedException e) {
            interrupted = true;
        } finally {
            try {
                if (!ended && self != null) {
                    endGently(self, END_LIMIT);
                }
            } finally {
                if (interrupted) {
                    Thread.currentThread().interrupt();
                }
            }
        }
        if (interrupted) {
            throw new CriuException(FailureReason.CRIU_FAILED, List.of("interrupted"));
        }
        if (!ended) {
            throw watch.cancelled()
                    ? new CriuException(FailureReason.GOES_ON, List.of())
                    : new CriuException(
                            FailureReason.CRIU_FAILED, List.of("no end within " + limit.toMinutes() + " minutes"));
        }
        if (self != null) {
            endChildren(self);
        }
        return process.exitValue();
    }

    /** Starts a dump, whose words go into a file. */
    private static Process start(List<String> command, Path words) throws IOException {
        ProcessBuilder builder = prepared(
                new ProcessBuilder(command).redirectOutput(words.toFile()).redirectErrorStream(true));
        useTools(builder.environment(), words.getParent());
        TarOptions.useForDump(builder.environment());
        return builder.start();
    }

    /**
     * Starts a restore, whose errors go into a file; what it writes to its output is its answer to the caller.
     *
     * @param bare whether the command brings its environment along, and gets nothing of this process's
     */
    static Process startRestore(List<String> command, boolean bare, Path words) throws IOException {
        ProcessBuilder builder = prepared(new ProcessBuilder(command).redirectError(words.toFile()));
        if (bare) {
            builder.environment().clear();
        } else {
            useForRestore(builder.environment(), words.getParent());
        }
        return builder.start();
    }

    /** Sets what CRIU's programs need at a restore. */
    static void useForRestore(Map<String, String> environment, Path logs) throws IOException {
        useTools(environment, logs);
        TarOptions.useForRestore(environment);
    }

    private static void useTools(Map<String, String> environment, Path logs) throws IOException {
        // Not beside the words: of another user's stage that folder is given to him, and this PATH is root's.
        CopyingGzip.use(environment, logs.resolveSibling("tools"));
    }

    private static ProcessBuilder prepared(ProcessBuilder builder) {
        return builder.directory(new File("/")).redirectInput(new File("/dev/null"));
    }

    private static void normalGroupPriority(long pid) {
        try {
            Files.writeString(Path.of("/proc/" + pid + "/autogroup"), "0");
        } catch (IOException e) {
            // The kernel has no such groups, or criu has ended: there is nothing to speed up.
        }
    }

    // A criu that was killed leaves stopped children, made to try out what the kernel can do; they are of its session.
    private static void endChildren(HostProcess criu) {
        for (Proc.Stat s : Proc.session(criu.pid())) {
            if (s.startTicks() >= criu.startTicks() && s.comm().startsWith("criu")) {
                LibC.kill(s.pid(), LibC.SIGKILL);
            }
        }
    }

    /**
     * Makes a dump fail and waits for its end; kills criu only when it does not end.
     *
     * @throws IOException when the kill has no effect: criu waits inside the kernel
     */
    public static void endGently(HostProcess criu, Duration limit) throws IOException {
        endGently(criu, limit, KILL_LIMIT);
    }

    static void endGently(HostProcess criu, Duration limit, Duration killLimit) throws IOException {
        boolean interrupted = false;
        boolean killed = false;
        long end = System.nanoTime() + limit.toNanos();
        if (criu.alive()) {
            LibC.normalPriority(criu.pid());
            normalGroupPriority(criu.pid());
            LibC.forbidWriting(criu.pid());
        }
        try {
            while (criu.alive()) {
                if (System.nanoTime() - end > 0) {
                    if (killed) {
                        throw new IOException("criu, process " + criu.pid() + ", withstands being killed");
                    }
                    LibC.kill(criu.pid(), LibC.SIGKILL);
                    killed = true;
                    end = System.nanoTime() + killLimit.toNanos();
                }
                try {
                    Thread.sleep(POLL_MILLIS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
            endChildren(criu);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
