package io.jenkins.plugins.preemptible.engine.part;

import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.part.PartNotes.Part;
import java.util.List;
import java.util.Optional;

/** A stage and its part as one, under the stage's id: nobody outside of the engine knows of the part. */
public record WholeStages(StageParts parts) {

    public ResumeReport named(ResumeReport report) {
        return parts.notes().ids().stream()
                .filter(id -> id.contained().equals(report.id()))
                .findFirst()
                .map(id -> new ResumeReport(
                        id,
                        report.restoreMillis(),
                        report.processes(),
                        report.unpackMillis(),
                        report.tier(),
                        report.warnings()))
                .orElse(report);
    }

    public StageStatus status(StageId id) {
        StageStatus whole = parts.inner().status(id);
        Optional<Part> part = parts.notes().of(id);
        State inside = part.isEmpty() ? null : parts.state(id.contained());
        if (whole.state() != State.RUNNING || inside == null) {
            return whole;
        }
        if (part.get().frozen() && inside == State.RUNNING) {
            parts.notes().write(id, part.get().withFrozen(false));
        }
        // One that ended with its container while it was frozen takes the stage with it, as one that lives there.
        boolean lost = part.get().frozen() && StageParts.isOver(inside);
        return lost || StageParts.SUSPENDED.contains(inside)
                ? suspended(whole, parts.inner().status(id.contained()))
                : whole;
    }

    private static StageStatus suspended(StageStatus whole, StageStatus part) {
        return new StageStatus(
                whole.id(),
                whole.name(),
                part.state(),
                part.initPid(),
                whole.exitCode(),
                whole.workDir(),
                whole.startedAt(),
                part.archive(),
                part.suspensions(),
                whole.output(),
                part.tier());
    }

    public List<StageStatus> list() {
        List<StageId> parted = parts.notes().ids();
        List<StageId> hidden = parted.stream().map(StageId::contained).toList();
        return parts.inner().list().stream()
                .filter(stage -> !hidden.contains(stage.id()))
                .map(stage -> parted.contains(stage.id()) ? status(stage.id()) : stage)
                .toList();
    }
}
