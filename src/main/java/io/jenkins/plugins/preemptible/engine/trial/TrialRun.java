package io.jenkins.plugins.preemptible.engine.trial;

import io.jenkins.plugins.preemptible.engine.api.TrialResult;
import io.jenkins.plugins.preemptible.engine.criu.CriuFindings;
import io.jenkins.plugins.preemptible.engine.criu.CriuLog;
import io.jenkins.plugins.preemptible.engine.criu.TarOptions;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import java.util.regex.Pattern;

/**
 * One restore, ended before the stage would run.
 *
 * <ol>
 *   <li>An action script fails at {@code post-restore}: by then CRIU has made all of the tree, and kills it again. A
 *       later point would let the tree run, since CRIU only logs a failure there.
 *   <li>It has passed when the log has CRIU's line for that end, with any exit code.
 *   <li>At the time limit, or when it is not needed any more, its control group is killed, then criu itself.
 * </ol>
 *
 * Nothing is lost by a kill at any moment: every process of it is in the group, every mount and socket in namespaces of
 * its own. Source: CRIU 4.2.1, {@code criu/cr-restore.c}, {@code restore_root_task}.
 *
 * @param folder for the engine's user only, on the host; the group is noted there while it exists
 * @param image what is restored, the whole image or a stripped one
 * @param workspace what is laid over the stage's own files
 */
public record TrialRun(
        ImageTrial.Subject subject,
        Path folder,
        Path image,
        TrialMounts mounts,
        ScratchNetwork network,
        WorkspaceStandIns workspace) {

    private static final String PASSED = "Aborting restore due to post-restore script";
    private static final String FULL = "No space left on device";
    private static final String NO_MEMORY = "Cannot allocate memory";
    private static final Pattern TASK_KILLED = Pattern.compile("\\d+ killed by signal 9\\b");
    private static final String LOG = "trial.log";
    private static final int NOT_MADE = 125;
    // Of the shell, for a program that it cannot run.
    private static final int NO_PROGRAM = 127;
    private static final int SIGNALLED = 128;
    private static final long POLL_MILLIS = 5;
    /** For files that CRIU copies while it opens them, each {@link StrippedImage#SMALL} at most, and its folders. */
    private static final long SCRATCH_BYTES = 64L << 20;

    /**
     * @param contentBytes of deleted files that {@code image} has content of
     * @throws UntriableException when it cannot be made, was killed or {@code cancelled}
     */
    TrialResult run(Duration limit, long contentBytes, BooleanSupplier cancelled)
            throws IOException, UntriableException {
        Freezer group = FreezerKind.create(subject.id(), null);
        if (group.cgroup().isEmpty()) {
            throw new UntriableException("there is no control group for it on this host");
        }
        Path noted = folder.resolve(ImageTrial.GROUP);
        Process process = null;
        try {
            Files.writeString(noted, group.location());
            Files.deleteIfExists(subject.logs().resolve(LOG));
            Path words = folder.resolve("words");
            ProcessBuilder builder = new ProcessBuilder(command(group, contentBytes))
                    .directory(new File("/"))
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(words.toFile())
                    .redirectErrorStream(true);
            TarOptions.useForRestore(builder.environment());
            process = builder.start();
            return result(process, words, limit, cancelled);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new UntriableException("it was interrupted");
        } finally {
            end(group, process);
            Files.deleteIfExists(noted);
        }
    }

    private TrialResult result(Process process, Path words, Duration limit, BooleanSupplier cancelled)
            throws IOException, InterruptedException, UntriableException {
        long end = System.nanoTime() + limit.toNanos();
        while (!process.waitFor(POLL_MILLIS, TimeUnit.MILLISECONDS)) {
            if (cancelled.getAsBoolean()) {
                throw new UntriableException("it was given up");
            }
            if (System.nanoTime() - end > 0) {
                return TrialResult.outOfTime(
                        "CRIU did not come to its end within " + limit.toSeconds() + " s",
                        CriuLog.of(log(words)).decisive());
            }
        }
        return verdict(log(words), process.exitValue());
    }

    /**
     * What an ended restore means.
     *
     * @param log of CRIU, then the words of the programs around it
     * @throws UntriableException when it says nothing of the image
     */
    public static TrialResult verdict(List<String> log, int code) throws UntriableException {
        if (log.stream().anyMatch(l -> l.contains(PASSED))) {
            return TrialResult.passed();
        }
        if (code == NOT_MADE) {
            throw new UntriableException(log.stream()
                    .filter(l -> l.startsWith("preemptible: "))
                    .findFirst()
                    .orElse("it cannot be set up"));
        }
        if (code == NO_PROGRAM || code == NO_PROGRAM - 1) {
            throw new UntriableException("CRIU could not be called: " + String.join(" ", log));
        }
        if (code >= SIGNALLED) {
            throw new UntriableException("it was killed by signal " + (code - SIGNALLED));
        }
        if (log.stream().anyMatch(l -> l.contains(FULL) || l.contains(NO_MEMORY))) {
            throw new UntriableException("the host has not memory enough for it");
        }
        CriuLog said = CriuLog.of(log);
        // CRIU ends its processes so as well, but after a line that says why.
        if (said.decisive().stream()
                .limit(1)
                .anyMatch(l -> TASK_KILLED.matcher(l).find())) {
            throw new UntriableException("a process of it was killed, perhaps since memory was short");
        }
        return TrialResult.failed(said.reason().sentence(), said.decisive());
    }

    private List<String> log(Path words) throws IOException {
        List<String> lines = new ArrayList<>();
        for (Path file : List.of(subject.logs().resolve(LOG), words)) {
            if (Files.exists(file)) {
                lines.addAll(Files.readAllLines(file, StandardCharsets.ISO_8859_1));
            }
        }
        return lines;
    }

    private static void end(Freezer group, Process process) throws IOException {
        boolean interrupted = Thread.interrupted();
        try {
            group.kill(null);
            if (process != null && process.isAlive()) {
                // setsid, unshare and the shell made way for criu: it has the same process id.
                LibC.kill(process.pid(), LibC.SIGKILL);
            }
            group.remove();
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private List<String> command(Freezer group, long contentBytes) throws UntriableException {
        List<String> command = new ArrayList<>(List.of(
                tool("setsid"),
                tool("unshare"),
                "--mount",
                "--net",
                "--propagation",
                "private",
                "--",
                "/bin/sh",
                "-c",
                Script.text(TrialRun.class, "trial.sh"),
                "preemptible-trial",
                group.joinFile().orElseThrow().toString(),
                subject.images().toString(),
                image.equals(subject.images()) ? "" : image.toString(),
                subject.logs().toString(),
                subject.tools().toString(),
                subject.criu().toString(),
                Long.toString(SCRATCH_BYTES + contentBytes),
                network.needed(),
                network.wanted(),
                folder.resolve(ImageTrial.TREES).toString(),
                CriuFindings.folder(folder, subject.mounts())
                        .map(Path::toString)
                        .orElse("")));
        command.addAll(mounts.words());
        command.addAll(workspace.words(mounts));
        command.addAll(List.of(
                "/tmp/criu",
                "restore",
                "--images-dir",
                "/tmp/image",
                "--root",
                TrialMounts.ROOT,
                "--work-dir",
                "/tmp/logs",
                "--log-file",
                LOG,
                "--file-locks",
                "--manage-cgroups=ignore",
                "--action-script",
                "/tmp/end",
                "-v2"));
        command.addAll(subject.options().forRestore());
        mounts.values().forEach((mount, value) -> command.addAll(List.of("--external", "mnt[" + mount + "]:" + value)));
        return command;
    }

    private static String tool(String name) throws UntriableException {
        return HostTool.find(name)
                .orElseThrow(() -> new UntriableException(name + " of util-linux is not on this host"))
                .toString();
    }
}
