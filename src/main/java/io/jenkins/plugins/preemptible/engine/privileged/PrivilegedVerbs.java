package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.Checkpoint;
import io.jenkins.plugins.preemptible.engine.DumpGuard;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.Frozen;
import io.jenkins.plugins.preemptible.engine.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.ResumeReport;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.stage.LaunchAs;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.stage.StageUser;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The verbs, as root does them for one user.
 *
 * <ol>
 *   <li>The engine below has a home folder for this user alone: an id of somebody else's stage names nothing in it.
 *   <li>Processes get the user's rights before anything that he said takes effect.
 *   <li>Images go out sealed, and only sealed ones come back in.
 * </ol>
 *
 * @param user who called
 * @param engine of the user's stages
 */
record PrivilegedVerbs(StageUser user, Engine engine, HostSeal seal) {

    /**
     * Does one verb.
     *
     * @param id null for the verbs that take none
     * @return the exit status
     * @throws EngineException when the engine refuses
     * @throws IllegalArgumentException when the request is not what it should be; for people
     */
    int run(Verb verb, StageId id, InputStream in, OutputStream out) throws IOException, InterruptedException {
        if (verb == Verb.ENTER) {
            return enter(id, EnterRequest.read(in));
        }
        Object value =
                switch (verb) {
                    case CHECK -> engine.check();
                    case LIST -> engine.list().stream().map(Wire.Status::of).toList();
                    case START -> start(id, Wire.request(in, Wire.Start.class));
                    case STATUS -> Wire.Status.of(engine.status(id));
                    case PREFLIGHT -> engine.preflight(id);
                    case FREEZE -> freeze(id, Wire.request(in, Wire.Freeze.class));
                    case DUMP -> dump(id, Wire.request(in, Wire.Dump.class));
                    case COMMIT -> commit(id);
                    case THAW -> thaw(id);
                    case RESUME -> resume(id, in);
                    case RESUME_HERE -> engine.resumeHere(id).orElse(null);
                    case KILL -> kill(id);
                    case FORGET -> forget(id);
                    case ENTER -> throw new IllegalStateException();
                };
        out.write(Wire.ok(value));
        if (verb == Verb.DUMP) {
            Files.copy(seal.image(id), out);
        }
        out.flush();
        return 0;
    }

    private Wire.Status start(StageId id, Wire.Start request) {
        LaunchAs as = new LaunchAs(user, request.ownFolder(), request.umask());
        return Wire.Status.of(engine.start(request.spec(id), as));
    }

    private int enter(StageId id, EnterRequest request) throws IOException, InterruptedException {
        LaunchAs as = new LaunchAs(user, Path.of("/"), request.umask());
        List<String> command = new ArrayList<>(engine.enterCommand(id, as));
        command.add(request.workDir());
        command.addAll(request.command());
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(new File("/"))
                .redirectInput(new File("/dev/null"))
                .redirectOutput(ProcessBuilder.Redirect.INHERIT)
                .redirectError(ProcessBuilder.Redirect.INHERIT);
        as.give(builder.environment(), request.environment());
        return builder.start().waitFor();
    }

    private Frozen freeze(StageId id, Wire.Freeze request) throws IOException {
        seal.sweep();
        Frozen frozen = engine.freeze(id, new FreezeRequest(DumpGuard.NONE, request.memoryFloorBytes(), request.mustNotRun()));
        seal.drop(id);
        return frozen;
    }

    private Checkpoint dump(StageId id, Wire.Dump request) throws IOException {
        boolean again = engine.status(id).state() == State.SUSPENDING && Files.exists(seal.image(id));
        if (again && seal.noted(id).isPresent()) {
            // The user's side could not keep what it was given.
            return seal.noted(id).get();
        }
        IfDumpFails ifFails = request.ifDumpFails() == null ? IfDumpFails.THAW : request.ifDumpFails();
        Checkpoint sealed = engine.dump(id, seal.image(id), seal.key(), ifFails);
        seal.note(sealed);
        return sealed;
    }

    private Object commit(StageId id) throws IOException {
        engine.commit(id);
        seal.dropImage(id);
        return true;
    }

    private Object thaw(StageId id) throws IOException {
        engine.thaw(id);
        seal.drop(id);
        return true;
    }

    private ResumeReport resume(StageId id, InputStream in) throws IOException {
        StageStatus known = engine.status(id);
        FailureReason reason =
                switch (known.state()) {
                    case SUSPENDED -> null;
                    case RUNNING -> FailureReason.STAGE_RUNS;
                    case SUSPENDING, RESUMING -> FailureReason.STAGE_BUSY;
                    case KILLED -> FailureReason.KILLED;
                    case ENDED, FAILED -> FailureReason.STAGE_ENDED;
                };
        if (reason != null) {
            throw new ResumeFailedException(reason, id.value());
        }
        Path taken = seal.takeIn(id, in);
        try {
            return engine.resume(taken, seal.key());
        } catch (ImageException e) {
            throw new ResumeFailedException(FailureReason.IMAGE_UNUSABLE, e.finding(), List.of(), e);
        } finally {
            Files.deleteIfExists(taken);
        }
    }

    private Object kill(StageId id) throws IOException {
        engine.kill(id);
        seal.drop(id);
        return true;
    }

    private Object forget(StageId id) throws IOException {
        engine.forget(id);
        seal.drop(id);
        return true;
    }
}
