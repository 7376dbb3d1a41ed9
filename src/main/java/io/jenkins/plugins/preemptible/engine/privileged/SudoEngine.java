package io.jenkins.plugins.preemptible.engine.privileged;

import com.fasterxml.jackson.databind.JsonNode;
import io.jenkins.plugins.preemptible.engine.Checkpoint;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.Extent;
import io.jenkins.plugins.preemptible.engine.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.Frozen;
import io.jenkins.plugins.preemptible.engine.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.ResumeReport;
import io.jenkins.plugins.preemptible.engine.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.HostReport;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.LaunchAs;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageSpec;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The engine of a user without root's rights: what needs them is done by the privileged part of the host.
 *
 * <ol>
 *   <li>Each verb is one call through sudo. What the stage writes, and its exit code, lie in this user's own home folder.
 *   <li>An image comes sealed by the host. It is packed, as the one file of an image, into an archive with the key of
 *       this engine's caller, and goes back to the host at the resume.
 *   <li>A guard is asked here, while the stage is frozen there.
 * </ol>
 *
 * Safe for any threads and processes, as {@link Engine} is.
 */
public final class SudoEngine extends Engine {

    private static final Duration POLL = Duration.ofMillis(100);
    /** Every how many polls the host is asked, too: a killed stage leaves no exit code. */
    private static final int ASK = 20;
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

    @Override
    public HostReport check() {
        List<HostReport.Item> items = new ArrayList<>();
        String user = "user " + System.getProperty("user.name");
        try {
            JsonNode answer = part.call(Verb.CHECK, null, null);
            HostReport seen = Wire.as(answer, HostReport.class);
            for (HostReport.Item item : seen.items()) {
                items.add(item.name().equals("rights")
                        ? new HostReport.Item("rights", true, user + ", through " + part.program(), "")
                        : item);
            }
        } catch (EngineException | IOException e) {
            items.add(new HostReport.Item(
                    "rights",
                    false,
                    user + ", and " + part.program() + " cannot be called: " + e.getMessage(),
                    "as an administrator: preempt install-helper --user " + System.getProperty("user.name")));
        }
        return new HostReport(items);
    }

    @Override
    public StageStatus start(StageSpec spec) {
        if (!Files.isDirectory(spec.workDir())) {
            throw new EngineException(FailureReason.BAD_SPEC, "the working folder " + spec.workDir() + " does not exist");
        }
        if (!spec.preserved().isEmpty()) {
            throw new EngineException(
                    FailureReason.BAD_SPEC, "preserved paths need an engine that runs as root, they cannot be packed here");
        }
        OwnFolders.Stage folder = own.stage(spec.id());
        if (Files.exists(folder.path())) {
            throw new EngineException(FailureReason.BAD_SPEC, "the id " + spec.id() + " is in use already");
        }
        Instant begun = Instant.now();
        try {
            folder.create();
            Wire.Start request = new Wire.Start(
                    spec.name(),
                    // As root takes it, which follows no link of a user's.
                    spec.workDir().toRealPath().toString(),
                    spec.command(),
                    spec.environment() == null ? System.getenv() : spec.environment(),
                    spec.connections().name(),
                    folder.path().toString(),
                    umask());
            return folder.complete(call(Verb.START, spec.id(), request, Wire.Status.class));
        } catch (EngineException e) {
            if (e instanceof PrivilegedPart.Unanswered) {
                endStarted(spec.id(), begun, e);
            }
            folder.deleteQuietly();
            throw e;
        } catch (IOException e) {
            folder.deleteQuietly();
            throw new EngineException(FailureReason.LAUNCH_FAILED, e.getMessage(), List.of(), e);
        }
    }

    // It may run all the same. One that was there before is of another home folder of this user.
    private void endStarted(StageId id, Instant begun, EngineException why) {
        try {
            Wire.Status known = call(Verb.STATUS, id, null, Wire.Status.class);
            if (!Instant.parse(known.startedAt()).isBefore(begun)) {
                kill(id);
                part.call(Verb.FORGET, id, null);
            }
        } catch (RuntimeException e) {
            why.addSuppressed(e);
        }
    }

    private static String umask() {
        return Proc.statusWords(ProcessHandle.current().pid(), "Umask").stream().findFirst().orElse("0022");
    }

    @Override
    public StageStatus start(StageSpec spec, LaunchAs as) {
        throw new EngineException(FailureReason.NO_RIGHTS, "only root starts stages of somebody else");
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

    @Override
    public List<String> enterCommand(StageId id, LaunchAs as) {
        throw new EngineException(FailureReason.NO_RIGHTS, "only root enters stages of somebody else");
    }

    @Override
    public PreflightReport preflight(StageId id) {
        return call(Verb.PREFLIGHT, id, null, PreflightReport.class);
    }

    @Override
    public Frozen freeze(StageId id, FreezeRequest request) {
        Frozen frozen;
        try {
            Wire.Freeze wanted = new Wire.Freeze(request.memoryFloorBytes(), request.mustNotRun());
            frozen = call(Verb.FREEZE, id, wanted, Frozen.class);
        } catch (PrivilegedPart.Unanswered e) {
            // It may be frozen all the same.
            undo(id, request.mustNotRun() ? IfDumpFails.STAY_FROZEN : IfDumpFails.THAW);
            throw e;
        }
        Optional<String> objection;
        try {
            objection = request.guard().objection(id);
        } catch (RuntimeException e) {
            objection = Optional.of(String.valueOf(e.getMessage()));
        }
        if (objection.isPresent()) {
            thaw(id);
            throw new SuspendFailedException(FailureReason.OBJECTION, objection.get());
        }
        return frozen;
    }

    /** Always full: what the host sealed is not understood here, and looks different each time. */
    @Override
    public Checkpoint dump(StageId id, Path archive, ImageKey key, IfDumpFails ifFails, Extent extent) {
        try (Wrapping wrapping = new Wrapping(own, id, archive.toAbsolutePath())) {
            wrapping.requireFolder();
            JsonNode answer = part.call(
                    Verb.DUMP,
                    id,
                    to -> to.write(Wire.bytes(new Wire.Dump(ifFails))),
                    (told, bytes) -> wrapping.take(Wire.as(told, Checkpoint.class), bytes));
            return wrapping.seal(Wire.as(answer, Checkpoint.class), status(id).name(), key);
        } catch (SuspendFailedException e) {
            throw e;
        } catch (EngineException | IOException e) {
            // The host has dumped it, or may have: here is where it went wrong.
            undo(id, ifFails);
            throw Wrapping.failed(e);
        }
    }

    private void undo(StageId id, IfDumpFails ifFails) {
        try {
            if (ifFails == IfDumpFails.THAW && status(id).state() == State.SUSPENDING) {
                part.call(Verb.THAW, id, null);
            }
        } catch (EngineException e) {
            // It is frozen and can be thawed or dumped again; why is told by what is thrown.
        }
    }

    @Override
    public void commit(StageId id) {
        OwnFolders.Stage folder = own.stage(id);
        Optional<Path> archive = folder.archive();
        if (archive.isEmpty()) {
            status(id);
            // The host may have sealed an image, but nobody took it: its tree is all that there is of the stage.
            throw new SuspendFailedException(FailureReason.NO_CHECKPOINT, id.value());
        }
        if (!Files.isRegularFile(archive.get())) {
            throw new SuspendFailedException(FailureReason.IMAGE_MISSING, archive.get().toString());
        }
        try {
            part.call(Verb.COMMIT, id, null);
        } catch (SuspendFailedException e) {
            if (e.reason() == FailureReason.ENTERING) {
                folder.dropArchive();
            }
            throw e;
        }
    }

    @Override
    public void thaw(StageId id) {
        part.call(Verb.THAW, id, null);
        own.stage(id).dropArchive();
    }

    @Override
    public ResumeReport resume(Path archive, ImageKey key) {
        Path absolute = archive.toAbsolutePath();
        try (Unwrapping unwrapping = new Unwrapping(own, absolute)) {
            StageId id = unwrapping.idOf(key);
            if (own.stage(id).isLastArchive(absolute)) {
                Optional<ResumeReport> here = resumeHere(id);
                if (here.isPresent()) {
                    return here.get();
                }
            }
            Path sealed = unwrapping.unpack(key);
            JsonNode answer = part.call(Verb.RESUME, id, to -> Files.copy(sealed, to), (told, bytes) -> {});
            own.stage(id).forgetArchive();
            return unwrapping.timed(Wire.as(answer, ResumeReport.class));
        } catch (IOException e) {
            throw Unwrapping.failed(e);
        }
    }

    @Override
    public Optional<ResumeReport> resumeHere(StageId id) {
        State before = status(id).state();
        ResumeReport report = call(Verb.RESUME_HERE, id, null, ResumeReport.class);
        if (report == null) {
            return Optional.empty();
        }
        if (before == State.SUSPENDING) {
            own.stage(id).dropArchive();
        } else {
            own.stage(id).forgetArchive();
        }
        return Optional.of(report);
    }

    @Override
    public StageStatus status(StageId id) {
        return own.stage(id).complete(call(Verb.STATUS, id, null, Wire.Status.class));
    }

    @Override
    public List<StageStatus> list() {
        List<StageStatus> known = new ArrayList<>();
        for (Wire.Status status : call(Verb.LIST, null, null, Wire.Status[].class)) {
            // The host knows the stages of all home folders of this user.
            OwnFolders.Stage folder = own.stage(StageId.parse(status.id()));
            if (Files.isDirectory(folder.path())) {
                known.add(folder.complete(status));
            }
        }
        return List.copyOf(known);
    }

    @Override
    public int await(StageId id) throws InterruptedException {
        status(id);
        for (int polls = 0; ; polls++) {
            Optional<Integer> code = own.stage(id).exitCode();
            if (code.isPresent() || polls % ASK == ASK - 1) {
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
        part.call(Verb.KILL, id, null);
    }

    @Override
    public void forget(StageId id) {
        part.call(Verb.FORGET, id, null);
        own.stage(id).deleteQuietly();
    }

    private <T> T call(Verb verb, StageId id, Object request, Class<T> type) {
        try {
            return Wire.as(part.call(verb, id, request), type);
        } catch (IOException e) {
            throw new PrivilegedPart.Unanswered(
                    "the answer of " + part.program() + " is not understood; it may be of another version", e);
        }
    }
}
