package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.contained.ContainedStart;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import io.jenkins.plugins.preemptible.engine.stage.StageContainer;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;

/**
 * Starts a stage and writes its first record.
 *
 * <ol>
 *   <li>The folder is made; from then on the id is taken.
 *   <li>Under the stage's lock: the record is written, then the init is started, then the record names the init.
 *   <li>A failure kills what was started and removes the folder.
 * </ol>
 */
public record StageStart(Stages stages) {

    /**
     * @throws EngineException as {@code Engine.start} says
     */
    public StageStatus start(StageSpec spec) {
        return start(spec, null);
    }

    /**
     * Starts a sandbox that lives in a container.
     *
     * @throws EngineException as {@code Engine.startIn} says
     */
    public StageStatus startIn(StageSpec spec, StageContainer container) {
        if (!spec.command().isEmpty() || !spec.preserved().isEmpty()) {
            throw new EngineException(
                    FailureReason.BAD_SPEC, "in a container a stage has no command of its own and no preserved paths");
        }
        return start(spec, container);
    }

    private StageStatus start(StageSpec spec, StageContainer container) {
        StageFolder folder = stages.folder(spec.id());
        if (Files.exists(folder.path())) {
            throw new EngineException(FailureReason.BAD_SPEC, "the id " + spec.id() + " is in use already");
        }
        if (!Files.isDirectory(spec.workDir())) {
            throw new EngineException(
                    FailureReason.BAD_SPEC, "the working folder " + spec.workDir() + " does not exist");
        }
        requireOutside(spec.preserved());
        Freezer freezer = null;
        HostProcess init = null;
        try {
            folder.create();
        } catch (IOException e) {
            throw new EngineException(FailureReason.LAUNCH_FAILED, e.getMessage(), List.of(), e);
        }
        try {
            // While it is held, a record without an init means that the start is under way.
            try (StageFolder.Held lock = stages.lock(spec.id())) {
                freezer = freezer(spec.id(), container);
                folder.write(StageJson.starting(
                        spec,
                        freezer.location(),
                        Instant.now().toString(),
                        folder.path().toString(),
                        container));
                init = container == null
                        ? StageLaunch.start(spec, folder, freezer)
                        : ContainedStart.start(container, folder, freezer);
                HostProcess started = init;
                // As they were before the command could mount anything: later mounts are the stage's own.
                List<String> mounts = Mounts.ofHost(
                        container == null
                                ? Proc.lines(folder.path().resolve("mounts"))
                                : Proc.mountInfo(started.pid()));
                folder.change(r -> r.withInit(started).withMounts(mounts));
            }
            return stages.status(spec.id());
        } catch (RuntimeException e) {
            abandon(folder, freezer, init);
            throw e;
        } catch (IOException e) {
            abandon(folder, freezer, init);
            throw new EngineException(FailureReason.LAUNCH_FAILED, e.getMessage(), List.of(), e);
        }
    }

    // A resume would put back the records of an earlier time.
    private void requireOutside(List<Path> preserved) {
        for (Path path : preserved) {
            if (stages.home().toAbsolutePath().normalize().startsWith(path.normalize())) {
                throw new EngineException(
                        FailureReason.BAD_SPEC,
                        "the preserved path " + path + " holds the stages' own folder " + stages.home());
            }
        }
    }

    private Freezer freezer(StageId id, StageContainer container) {
        try {
            return container == null
                    ? FreezerKind.create(id, stages.freezers())
                    : FreezerKind.createBelow(
                            id, stages.freezers(), container.first().pid());
        } catch (IOException e) {
            throw new EngineException(FailureReason.NO_FREEZER, e.getMessage(), List.of(), e);
        }
    }

    private static void abandon(StageFolder folder, Freezer freezer, HostProcess init) {
        try {
            if (freezer != null) {
                Stages.killWhole(freezer, init);
            }
            StageFolder.delete(folder.path());
        } catch (IOException e) {
            // The first failure is thrown.
        }
    }
}
