package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.Extent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.home.OwnFolders;
import io.jenkins.plugins.preemptible.engine.home.StageLaunch;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.preflight.Preflight;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.privileged.HelperAnswer;
import io.jenkins.plugins.preemptible.engine.privileged.HelperRequest;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedPart;
import io.jenkins.plugins.preemptible.engine.privileged.Verb;
import io.jenkins.plugins.preemptible.engine.privileged.install.InstalledLevel;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * The engine of a user without root's rights: the privileged part of the host starts, freezes, thaws, enters and kills.
 *
 * <ol>
 *   <li>Each verb is one call through sudo, of some 20 ms. The stage's files, its output and its exit code lie in this
 *       user's own home folder.
 *   <li>It makes no images: a suspended stage stays frozen in the host's memory, see {@link #checkpoints}.
 *   <li>What can be asked without rights (the preflight, the memory, the guard) is asked here.
 * </ol>
 *
 * Safe for any threads and processes, as {@link Engine} is.
 */
public final class SudoEngine extends Engine {

    private static final Duration POLL = Duration.ofMillis(100);
    /** Every how many polls the host is asked, too: a killed stage leaves no exit code. */
    private static final int ASK = 20;

    private static final Duration READY = Duration.ofSeconds(20);
    private static final int KILLED_BY_SIGNAL = 128 + 9;

    private final OwnFolders own;
    private final PrivilegedPart part;

    private SudoEngine(OwnFolders own, PrivilegedPart part) {
        this.own = own;
        this.part = part;
    }

    /**
     * @param home of this user, made when it is not there
     * @throws UncheckedIOException when it cannot be made
     */
    public static Engine open(Path home, PrivilegedPart part) {
        try {
            Path absolute = home.toAbsolutePath().normalize();
            Files.createDirectories(
                    absolute, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            return new SudoEngine(new OwnFolders(absolute.toRealPath()), part);
        } catch (IOException e) {
            throw new UncheckedIOException("the home folder " + home + " cannot be made", e);
        }
    }

    /** Never: images are made and restored by programs that need root's rights and would read what the user wrote. */
    @Override
    public boolean checkpoints() {
        return false;
    }

    @Override
    public HostReport check() {
        return report(part, false);
    }

    /**
     * Tries what suspending needs, through the privileged part.
     *
     * @param checkpoints whether it makes images
     * @throws EngineException as of {@link InstalledLevel#of}
     */
    public static HostReport report(PrivilegedPart part, boolean checkpoints) {
        List<HostReport.Item> items = new ArrayList<>();
        String user = "user " + System.getProperty("user.name");
        InstalledLevel level = InstalledLevel.of(part);
        items.add(new HostReport.Item("rights", true, user + ", through " + part.program(), ""));
        try {
            String group = part.call(Verb.CHECK, null).text("group");
            items.add(new HostReport.Item("namespaces", true, "IPC, PID, mount", ""));
            items.add(new HostReport.Item("freezer", true, "cgroup v2, in " + group + outside(group), ""));
            items.add(new HostReport.Item("suspends", true, suspends(level, checkpoints), ""));
            items.add(new HostReport.Item(
                    "sudo",
                    true,
                    "does not work inside of a stage: no process in it gets more rights than the user",
                    ""));
        } catch (EngineException e) {
            String name = e.reason() == FailureReason.NO_FREEZER ? "freezer" : "namespaces";
            items.add(new HostReport.Item(name, false, e.detail(), e.reason().remedy()));
        }
        return new HostReport(items);
    }

    private static String suspends(InstalledLevel level, boolean checkpoints) {
        if (checkpoints) {
            return "by checkpoints, which CRIU makes in a user namespace of root's (level checkpoints)";
        }
        return "in memory only: a restart of this host loses suspended stages ("
                + (level.criu().isPresent()
                        ? "level checkpoints, and PREEMPTIBLE_CHECKPOINTS=off)"
                        : "level memory; install-helper with --checkpoints would make checkpoints)");
    }

    private static String remedy() {
        return "as an administrator: preempt install-helper --user " + System.getProperty("user.name");
    }

    /** The report of a user for whom nothing can be called, with what is left of an installation. */
    public static HostReport withRemains(HostReport report) {
        return InstalledLevel.remains(PrivilegedInstall.usual())
                .map(words -> new HostReport(Stream.concat(
                                Stream.of(new HostReport.Item("rights", false, words, remedy())),
                                report.items().stream().filter(i -> !i.name().equals("rights")))
                        .toList()))
                .orElse(report);
    }

    // Where the agent's own group is delegated to its user, a stage's is above it.
    private static String outside(String group) {
        Optional<String> own = Proc.self("cgroup").stream()
                .filter(l -> l.startsWith("0::"))
                .map(l -> l.substring("0::".length()))
                .findFirst();
        return own.filter(o -> !o.equals("/") && !group.endsWith(o)).isEmpty()
                ? ""
                : ": outside of the agent's own group " + own.get()
                        + ", which belongs to the user, so limits that are set there do not hold for stages";
    }

    @Override
    public StageStatus start(StageSpec spec) {
        if (!Files.isDirectory(spec.workDir())) {
            throw new EngineException(
                    FailureReason.BAD_SPEC, "the working folder " + spec.workDir() + " does not exist");
        }
        if (!spec.preserved().isEmpty()) {
            throw new EngineException(FailureReason.BAD_SPEC, "preserved paths need an engine that makes images");
        }
        OwnFolders.Stage folder = own.stage(spec.id());
        if (Files.exists(folder.path())) {
            throw new EngineException(FailureReason.BAD_SPEC, "the id " + spec.id() + " is in use already");
        }
        boolean called = false;
        try {
            Path workDir = spec.workDir().toRealPath();
            boolean sandbox = spec.command().isEmpty();
            folder.create(new OwnFolders.Note(spec.name(), workDir.toString(), sandbox, 0));
            List<String> command = StageLaunch.settling(
                    workDir, umask(), sandbox ? Path.of("/dev/null") : folder.output(), folder.path(), spec.command());
            byte[] request = HelperRequest.of(command, environment(spec));
            called = true;
            part.call(Verb.START, spec.id(), request, folder.errors());
            awaitReady(folder);
            return status(spec.id());
        } catch (EngineException e) {
            if (called) {
                endStarted(spec.id(), e);
            }
            folder.deleteQuietly();
            throw e;
        } catch (IOException e) {
            folder.deleteQuietly();
            throw new EngineException(FailureReason.LAUNCH_FAILED, e.getMessage(), List.of(), e);
        }
    }

    private static Map<String, String> environment(StageSpec spec) {
        if (spec.environment() == null) {
            return System.getenv();
        }
        Map<String, String> environment = new HashMap<>(spec.environment());
        String path = System.getenv("PATH");
        if (path != null) {
            environment.putIfAbsent("PATH", path);
        }
        return environment;
    }

    // The user's own init opens the output and enters the working folder, after the privileged part has done its work.
    private void awaitReady(OwnFolders.Stage folder) throws IOException {
        long end = System.nanoTime() + READY.toNanos();
        while (!folder.isReady()) {
            State state = folder.status(part.call(Verb.STATUS, folder.id())).state();
            if (state != State.RUNNING && state != State.SUSPENDING && !folder.isReady()) {
                throw new EngineException(
                        FailureReason.LAUNCH_FAILED,
                        Files.readString(folder.errors()).trim());
            }
            if (System.nanoTime() - end > 0) {
                throw new EngineException(FailureReason.LAUNCH_FAILED, "not ready within " + READY.toSeconds() + " s");
            }
            pause(Duration.ofMillis(5));
        }
    }

    private static void pause(Duration time) {
        try {
            Thread.sleep(time.toMillis());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EngineException(FailureReason.LAUNCH_FAILED, "interrupted");
        }
    }

    // It may run all the same; one of the same id in another home folder of this user is left alone.
    private void endStarted(StageId id, EngineException why) {
        if (why.reason() == FailureReason.BAD_SPEC) {
            return;
        }
        try {
            part.call(Verb.KILL, id);
            part.call(Verb.FORGET, id);
        } catch (EngineException e) {
            if (e.reason() != FailureReason.UNKNOWN_STAGE) {
                why.addSuppressed(e);
            }
        }
    }

    private static String umask() {
        return Proc.statusWords(ProcessHandle.current().pid(), "Umask").stream()
                .findFirst()
                .orElse("0022");
    }

    @Override
    public EnterCommand enterCommand(StageId id) {
        FailureReason reason =
                switch (status(id).state()) {
                    case RUNNING -> null;
                    case SUSPENDING, RESUMING -> FailureReason.STAGE_BUSY;
                    case SUSPENDED -> FailureReason.STAGE_SUSPENDED;
                    case KILLED -> FailureReason.KILLED;
                    case ENDED, FAILED -> FailureReason.STAGE_ENDED;
                };
        if (reason != null) {
            throw new EngineException(reason, id.value());
        }
        return part.enter(id);
    }

    /** As far as this user may look: what others hold of the stage does not show. */
    @Override
    public PreflightReport preflight(StageId id) {
        try {
            HelperAnswer seen = part.call(Verb.STATUS, id);
            StageStatus status = own.stage(id).status(seen);
            Optional<HostProcess> init = HostProcess.of(status.initPid());
            if (init.isEmpty()) {
                throw new EngineException(FailureReason.STAGE_ENDED, id.value());
            }
            return Preflight.of(new Preflight.Subject(
                            init.get(),
                            pids(seen),
                            Mounts.ofHost(Proc.mountInfo(init.get().pid())),
                            Connections.REFUSE,
                            own.stage(id).path()))
                    .withoutDump();
        } catch (IOException e) {
            throw new UncheckedIOException("the processes of " + id + " cannot be listed", e);
        }
    }

    private static List<Long> pids(HelperAnswer seen) throws IOException {
        return FreezerKind.at("v2:" + seen.text("group")).pids(null);
    }

    @Override
    public Frozen freeze(StageId id, FreezeRequest request) {
        boolean again = status(id).state() == State.SUSPENDING;
        if (!again && !request.mustNotRun()) {
            requireMemory(request.memoryFloorBytes());
        }
        long begun = System.nanoTime();
        long looked = begun;
        if (!request.mustNotRun()) {
            preflight(id).obstacles().stream()
                    .filter(l -> l.reason() != FailureReason.ENTERING)
                    .findFirst()
                    .ifPresent(l -> {
                        throw new SuspendFailedException(l.reason(), l.words());
                    });
            looked = System.nanoTime();
        }
        try {
            part.call(Verb.FREEZE, id);
        } catch (PrivilegedPart.Unanswered e) {
            // It may be frozen all the same.
            if (!request.mustNotRun()) {
                thawQuietly(id, e);
            }
            throw e;
        }
        long frozen = System.nanoTime();
        Optional<String> objection = objection(id, request);
        if (objection.isPresent()) {
            thaw(id);
            throw new SuspendFailedException(FailureReason.OBJECTION, objection.get());
        }
        try {
            if (!again) {
                own.stage(id).countSuspension();
            }
            List<Long> pids = pids(part.call(Verb.STATUS, id));
            return new Frozen(
                    id,
                    millis(begun, looked),
                    millis(looked, frozen),
                    pids.size(),
                    pids.stream().mapToLong(Proc::residentBytes).sum(),
                    Handover.AT_FREEZE,
                    true);
        } catch (IOException e) {
            thawQuietly(id, null);
            throw new UncheckedIOException("the frozen stage " + id + " cannot be looked at", e);
        }
    }

    private static Optional<String> objection(StageId id, FreezeRequest request) {
        try {
            return request.guard().objection(id);
        } catch (RuntimeException e) {
            return Optional.of(String.valueOf(e.getMessage()));
        }
    }

    private static long millis(long from, long to) {
        return Duration.ofNanos(to - from).toMillis();
    }

    private void thawQuietly(StageId id, EngineException why) {
        try {
            part.call(Verb.THAW, id);
        } catch (EngineException e) {
            // It is frozen and can be thawed again; why is told by what is thrown.
            if (why != null) {
                why.addSuppressed(e);
            }
        }
    }

    @Override
    public Checkpoint dump(StageId id, Path archive, ImageKey key, IfDumpFails ifFails, Extent extent) {
        throw refusedDump(id, ifFails);
    }

    @Override
    public void commit(StageId id) {
        status(id);
        throw new SuspendFailedException(FailureReason.NO_CHECKPOINT, id.value());
    }

    @Override
    public void thaw(StageId id) {
        if (status(id).state() != State.SUSPENDING) {
            throw new SuspendFailedException(FailureReason.NO_CHECKPOINT, id.value());
        }
        part.call(Verb.THAW, id);
    }

    @Override
    public ResumeReport resume(Path archive, ImageKey key) {
        throw new ResumeFailedException(FailureReason.MEMORY_ONLY, archive.toString());
    }

    @Override
    public Optional<ResumeReport> resumeHere(StageId id) {
        FailureReason refusal =
                switch (status(id).state()) {
                    case SUSPENDING, SUSPENDED -> null;
                    case RUNNING -> FailureReason.STAGE_RUNS;
                    case RESUMING -> FailureReason.STAGE_BUSY;
                    case KILLED -> FailureReason.KILLED;
                    case ENDED, FAILED -> FailureReason.STAGE_ENDED;
                };
        if (refusal != null) {
            throw new ResumeFailedException(refusal, id.value());
        }
        try {
            int processes = pids(part.call(Verb.STATUS, id)).size();
            long begun = System.nanoTime();
            part.call(Verb.THAW, id);
            return Optional.of(new ResumeReport(id, millis(begun, System.nanoTime()), processes, 0, Tier.FROZEN));
        } catch (IOException e) {
            throw new UncheckedIOException("the frozen stage " + id + " cannot be looked at", e);
        }
    }

    @Override
    public StageStatus status(StageId id) {
        try {
            OwnFolders.Stage folder = own.stage(id);
            // The host knows the stages of all home folders of this user.
            folder.note();
            return folder.status(part.call(Verb.STATUS, id));
        } catch (IOException e) {
            throw new UncheckedIOException("nothing can be told of the stage " + id, e);
        }
    }

    @Override
    public List<StageStatus> list() {
        try {
            List<StageStatus> known = new ArrayList<>();
            for (StageId id : own.ids()) {
                try {
                    known.add(status(id));
                } catch (EngineException e) {
                    // Forgotten by somebody else since the ids were read.
                    if (e.reason() != FailureReason.UNKNOWN_STAGE) {
                        throw e;
                    }
                }
            }
            return List.copyOf(known);
        } catch (IOException e) {
            throw new UncheckedIOException("the stages cannot be listed", e);
        }
    }

    @Override
    public int await(StageId id) throws InterruptedException {
        status(id);
        for (int polls = 0; ; polls++) {
            if (Files.exists(own.stage(id).path().resolve("exit")) || polls % ASK == ASK - 1) {
                StageStatus now = status(id);
                switch (now.state()) {
                    case ENDED, KILLED, FAILED:
                        return now.exitCode() == null ? KILLED_BY_SIGNAL : now.exitCode();
                    default:
                }
            }
            Thread.sleep(POLL.toMillis());
        }
    }

    @Override
    public void kill(StageId id) {
        status(id);
        part.call(Verb.KILL, id);
    }

    @Override
    public void forget(StageId id) {
        status(id);
        part.call(Verb.FORGET, id);
        own.stage(id).deleteQuietly();
    }
}
