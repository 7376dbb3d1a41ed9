package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.HelperFreezer;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.privileged.HostState;
import io.jenkins.plugins.preemptible.engine.stage.CriuOptions;
import io.jenkins.plugins.preemptible.engine.stage.StageContainer;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The criu program, run with the options that stages need.
 *
 * <ol>
 *   <li>A dump starts from a tree that is frozen already and leaves it frozen: {@code --freeze-cgroup} goes back to the
 *       state it found, {@code --leave-running} keeps it from killing.
 *   <li>A restore happens in a mount namespace of its own, over a copy of the root, as {@code --root} asks for. The
 *       restored init is the child of a shell that collects it ({@code restored.sh}); nothing else stays.
 *   <li>TCP connections to the outside are cut ({@code --tcp-close}) only where the stage's step says so; else the dump
 *       is refused, and nothing is lost. Those inside are silent meanwhile ({@link ConnectionLock}).
 * </ol>
 *
 * Source: criu(8), version 4.2.1.
 */
public class Criu {

    private static final Duration DUMP_LIMIT = Duration.ofMinutes(30);
    /** The exit code that a shell and Java give for an end by SIGKILL. */
    static final int KILLED = 128 + LibC.SIGKILL;

    /** The first version that knows {@code --network-lock skip}. */
    private static final String SKIPS_LOCK = "3.19";

    static final String DUMP_LOG = "dump.log";
    /** The file in {@link StageFolder#logs} that is there from before a restore until criu has succeeded and ended. */
    static final String RUNNING = "restore.running";

    private final Path program;

    public Criu(Path program) {
        this.program = program;
    }

    public Path program() {
        return program;
    }

    /** The same program, for a stage that lives in this container; null for one on the host itself. */
    public Criu in(StageContainer container) {
        return in(container, () -> {});
    }

    /**
     * The same program, for a stage that lives in this container; null for one on the host itself.
     *
     * @param check of what is restored in the container
     */
    public Criu in(StageContainer container, RestoreCheck check) {
        return container == null ? this : new ContainedCriu(program, container, check);
    }

    /** The version as the program tells it, such as {@code 4.2.1}, or {@code unknown}. */
    public String version() {
        return CriuVersion.of(program);
    }

    /** Whether it is new enough for stages with TCP connections between their own processes. */
    public boolean carriesConnections() {
        return CriuVersion.isAtLeast(version(), SKIPS_LOCK);
    }

    /** What {@code criu check} says: whether this program works on this kernel. Mounts that no stage has do not count. */
    public HostTool.Answer check() {
        List<String> command = new ArrayList<>(CriuFindings.prefix(program));
        command.addAll(List.of(program.toString(), "check"));
        Optional<Path> unshare = HostTool.find("unshare");
        if (unshare.isEmpty() || MisreadMounts.in(Proc.self("mountinfo")).isEmpty()) {
            return HostTool.run(30, command);
        }
        List<String> apart = new ArrayList<>(List.of(
                unshare.get().toString(),
                "--mount",
                "--propagation",
                "private",
                "--",
                "/bin/sh",
                "-c",
                Script.text(Criu.class, "check.sh"),
                "preemptible-check"));
        apart.addAll(command);
        return HostTool.run(30, apart);
    }

    /**
     * The mounts of this host for which {@link #check} failed.
     *
     * @return mount points as plain text; empty when it failed for another reason
     */
    public static List<String> misreadMounts(HostTool.Answer check) {
        return check.text().contains("mountinfo") ? MisreadMounts.in(Proc.self("mountinfo")) : List.of();
    }

    /**
     * Dumps a frozen tree; it is frozen afterwards too.
     *
     * <p>With a gate the tree may run until the gate is opened; there must be no TCP connection that stays then.
     *
     * @param watch is told of the process, and asked whether it has to end
     * @throws CriuException with the reason and CRIU's decisive lines
     */
    public void dump(DumpRequest request, DumpWay way, CriuRun.Watch watch) throws CriuException, IOException {
        StageFolder folder = request.folder();
        CriuOptions options = request.options();
        Files.createDirectories(folder.logs());
        List<TcpEnds> connections = TcpEnds.ofTree(request.init().pid());
        boolean skipsLock = carriesConnections();
        if (options.tcpEstablished() && !skipsLock && !connections.isEmpty()) {
            throw new CriuException(FailureReason.CRIU_TOO_OLD, List.of());
        }
        List<String> command = new ArrayList<>(dumpPrefix(folder));
        if (way.withoutMemory()) {
            command.addAll(List.of(tool("perl"), "-e", Script.text(Criu.class, "without-memory.pl")));
        }
        command.addAll(List.of(
                program.toString(),
                "dump",
                "--tree",
                Long.toString(request.init().pid()),
                "--images-dir",
                folder.images().toString()));
        command.addAll(options.forDump(skipsLock));
        Optional<Path> cgroup = request.freezer().cgroup();
        if (cgroup.isPresent()) {
            command.addAll(List.of("--freeze-cgroup", cgroup.get().toString(), "--leave-running"));
        } else {
            command.add("--leave-stopped");
        }
        common(command, folder.logs(), DUMP_LOG, request.hostMounts(), request.hostMounts());
        command.add("-v2");
        if (way.gate() != null) {
            command.addAll(List.of("--action-script", way.gate().script().toString()));
        }
        Path words = folder.logs().resolve("dump.out");
        int code;
        try (ConnectionLock lock = lock(options.tcpEstablished() ? connections : List.of())) {
            if (options.tcpEstablished()
                    && !lock.holds()
                    && !connections.stream().allMatch(TcpEnds::idle)) {
                throw new CriuException(FailureReason.BUSY_CONNECTION, List.of());
            }
            code = CriuRun.run(command, words, way.idle(), DUMP_LIMIT, watch);
        }
        if (code == KILLED) {
            throw new CriuException(FailureReason.CRIU_KILLED, List.of());
        }
        if (code != 0) {
            throw failure(folder, DUMP_LOG, words);
        }
    }

    /**
     * Restores a tree, which runs when this returns.
     *
     * @return the init's process id on this host; the init may have ended already, criu has in every case
     * @throws CriuException with the reason and CRIU's decisive lines; the caller kills what is left in the freezer
     */
    public long restore(Path images, StageFolder folder, Freezer freezer, List<String> hostMounts, CriuOptions options)
            throws CriuException, IOException {
        Files.createDirectories(folder.logs());
        Files.createDirectories(folder.root());
        Path running = folder.logs().resolve(RUNNING);
        Path pidFile = folder.logs().resolve("restore.pid");
        Files.deleteIfExists(pidFile);
        Files.deleteIfExists(folder.logs().resolve("restore.log"));
        Files.write(running, new byte[0]);
        Launch launch = restoreLaunch(folder, freezer, hostMounts, running, pidFile);
        List<String> command = new ArrayList<>(launch.prefix());
        command.addAll(List.of(
                program.toString(),
                "restore",
                "--images-dir",
                images.toString(),
                "--pidfile",
                pidFile.toString(),
                "--root",
                folder.root().toString(),
                "--restore-detached",
                "--restore-sibling"));
        command.addAll(options.forRestore());
        common(command, folder.logs(), "restore.log", hostMounts, launch.mounts());
        try (CriuGate gate = restoreGate(folder);
                ConnectionLock lock = lock(options.tcpClose() ? List.of() : TcpEnds.ofImage(images))) {
            if (gate != null) {
                command.addAll(List.of("--action-script", gate.script().toString()));
            }
            // The line that tells of the sockets is an informational one. Of a thousand processes there are 100,000 of
            // those.
            command.add(lock.holds() ? "-v3" : "-v2");
            return CriuRestore.run(
                    new CriuRestore.Start(command, launch.bare(), gate, this::requireRestored), folder, freezer, lock);
        }
    }

    /** What stands in front of criu at a dump. */
    List<String> dumpPrefix(StageFolder folder) throws IOException {
        return CriuFindings.prefix(folder.path());
    }

    ConnectionLock lock(List<TcpEnds> connections) {
        return ConnectionLock.of(connections);
    }

    /** Where a restore waits before anything of the tree runs; null when it does not wait. */
    CriuGate restoreGate(StageFolder folder) throws IOException {
        return null;
    }

    /** Asked while a restore waits there. */
    void requireRestored() throws IOException {}

    /**
     * How a restore begins.
     *
     * @param prefix in front of criu; it ends as {@code restore.sh} does
     * @param mounts where each of the mounts is found that the image refers to
     * @param bare whether the prefix brings its environment along: nothing of this process's is given to it
     */
    record Launch(List<String> prefix, List<String> mounts, boolean bare) {}

    /**
     * @param running removed once criu has succeeded and ended
     * @param pidFile into which criu writes
     */
    Launch restoreLaunch(StageFolder folder, Freezer freezer, List<String> hostMounts, Path running, Path pidFile)
            throws CriuException, IOException {
        return new Launch(
                List.of(
                        tool("setsid"),
                        "/bin/sh",
                        "-c",
                        Script.text(Criu.class, "restore.sh"),
                        "preemptible-restore",
                        Script.text(Criu.class, "restored.sh"),
                        running.toString(),
                        pidFile.toString(),
                        tool("unshare"),
                        "--mount",
                        "--propagation",
                        "private",
                        "--",
                        "/bin/sh",
                        "-c",
                        Script.text(Criu.class, "restore-root.sh"),
                        "preemptible-restore-root",
                        folder.root().toString(),
                        freezer.joinFile().map(Path::toString).orElse(""),
                        CriuFindings.folder(folder.path(), hostMounts)
                                .map(Path::toString)
                                .orElse("")),
                hostMounts,
                false);
    }

    /**
     * The result of a restore whose caller died before the restore ended: the restored init.
     *
     * @return empty when the restore failed or has not ended
     */
    public static Optional<HostProcess> finishedRestore(StageFolder folder, Freezer freezer) throws IOException {
        if (freezer instanceof HelperFreezer helper) {
            return helper.part()
                    .seen(helper.id())
                    .filter(s -> s.state() == HostState.RUNNING || s.state() == HostState.FROZEN)
                    .flatMap(s -> HostProcess.of(s.init()));
        }
        Path pidFile = folder.logs().resolve("restore.pid");
        if (!Files.exists(pidFile) || Files.exists(folder.logs().resolve(RUNNING))) {
            return Optional.empty();
        }
        long pid = Long.parseLong(Files.readString(pidFile).trim());
        Optional<HostProcess> init = HostProcess.of(pid);
        if (init.isEmpty()
                || (freezer.cgroup().isPresent() && !freezer.pids(null).contains(pid))) {
            return Optional.empty();
        }
        return init;
    }

    private static void common(
            List<String> command, Path logs, String log, List<String> hostMounts, List<String> places) {
        command.addAll(
                List.of("--work-dir", logs.toString(), "--log-file", log, "--file-locks", "--manage-cgroups=ignore"));
        for (int i = 0; i < hostMounts.size(); i++) {
            command.add("--external");
            command.add("mnt[" + hostMounts.get(i) + "]:" + places.get(i));
        }
    }

    static CriuException failure(StageFolder folder, String log, Path words) throws IOException {
        List<String> lines = new ArrayList<>();
        for (Path file : List.of(folder.logs().resolve(log), words)) {
            if (Files.exists(file)) {
                lines.addAll(Files.readAllLines(file, StandardCharsets.ISO_8859_1));
            }
        }
        boolean full = folder.path().toFile().getUsableSpace() < 64 * 1024;
        CriuLog said = log.equals(DUMP_LOG) ? CriuLog.of(lines) : CriuLog.ofRestore(lines);
        return new CriuException(full ? FailureReason.NO_SPACE : said.reason(), said.decisive());
    }

    static String tool(String name) throws IOException {
        Optional<Path> found = HostTool.find(name);
        return found.orElseThrow(() -> new IOException(name + " is not on this host"))
                .toString();
    }
}
