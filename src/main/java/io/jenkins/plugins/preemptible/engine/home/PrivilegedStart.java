package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.privileged.HelperRequest;
import io.jenkins.plugins.preemptible.engine.privileged.Verb;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/** Starts a stage through the privileged part, and waits until the user's own init is about to run the command. */
public record PrivilegedStart(PrivilegedStages stages) {

    private static final Duration READY = TimeLimits.of(Duration.ofSeconds(20));

    /**
     * @throws EngineException as {@code Engine.start} says; preserved paths are {@link FailureReason#BAD_SPEC}
     */
    public StageStatus start(StageSpec spec) {
        if (!Files.isDirectory(spec.workDir())) {
            throw new EngineException(
                    FailureReason.BAD_SPEC, "the working folder " + spec.workDir() + " does not exist");
        }
        if (!spec.preserved().isEmpty()) {
            throw new EngineException(FailureReason.BAD_SPEC, "preserved paths need an engine that makes images");
        }
        OwnFolders.Stage folder = stages.own().stage(spec.id());
        if (Files.exists(folder.path())) {
            throw new EngineException(FailureReason.BAD_SPEC, "the id " + spec.id() + " is in use already");
        }
        boolean called = false;
        try {
            Path workDir = spec.workDir().toRealPath();
            boolean sandbox = spec.command().isEmpty();
            folder.create(new OwnFolders.Note(spec.name(), workDir.toString(), sandbox, 0));
            List<String> command = StageLaunch.settling(
                    workDir,
                    StageLaunch.umask(),
                    sandbox ? Path.of("/dev/null") : folder.output(),
                    folder.path(),
                    spec.command());
            byte[] request = HelperRequest.of(command, StageLaunch.environment(spec));
            called = true;
            stages.part().call(Verb.START, spec.id(), request, folder.errors());
            awaitReady(folder);
            return stages.status(spec.id());
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

    // The user's own init opens the output and enters the working folder, after the privileged part has done its work.
    private void awaitReady(OwnFolders.Stage folder) throws IOException {
        long end = System.nanoTime() + READY.toNanos();
        while (!folder.isReady()) {
            State state =
                    folder.status(stages.part().call(Verb.STATUS, folder.id())).state();
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

    // The stage may run in spite of the failure. A stage of the same id in another home folder of this user is left
    // alone.
    private void endStarted(StageId id, EngineException why) {
        if (why.reason() == FailureReason.BAD_SPEC) {
            return;
        }
        try {
            stages.part().call(Verb.KILL, id);
            stages.part().call(Verb.FORGET, id);
        } catch (EngineException e) {
            if (e.reason() != FailureReason.UNKNOWN_STAGE) {
                why.addSuppressed(e);
            }
        }
    }
}
