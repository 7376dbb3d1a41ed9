package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.HelperFreezer;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.host.InsideReader;
import io.jenkins.plugins.preemptible.engine.preflight.Preflight;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.io.UncheckedIOException;

/** The preflight of a stage of this home, with what the stage's record knows of it. */
public record StagePreflight(Stages stages) {

    /**
     * @throws EngineException when the stage has no processes
     */
    public PreflightReport of(StageId id) {
        StageJson record = stages.settle(id);
        record.state().refusalToSuspend().ifPresent(refusal -> {
            throw new EngineException(refusal, id.value());
        });
        if (record.init() == null) {
            throw new EngineException(FailureReason.STAGE_BUSY, id.value());
        }
        return of(record);
    }

    public PreflightReport of(StageJson record) {
        Freezer freezer = Stages.freezer(record).orElseThrow();
        StageFolder folder = stages.folder(StageId.parse(record.id()));
        try (InsideReader inside = inside(freezer, record)) {
            PreflightReport seen = Preflight.of(new Preflight.Subject(
                    record.init(),
                    freezer.pids(record.init()),
                    record.mounts(),
                    record.connections(),
                    folder.images(),
                    inside));
            return stages.checkpoints() ? seen : seen.withoutDump();
        } catch (IOException e) {
            throw new UncheckedIOException("the processes of " + record.id() + " cannot be listed", e);
        }
    }

    // The kernel shows the stage's processes to processes of its own user namespace only.
    private static InsideReader inside(Freezer freezer, StageJson record) {
        return freezer instanceof HelperFreezer helper
                ? helper.part().inspect(helper.id(), record.init().pid())
                : InsideReader.NONE;
    }
}
