package io.jenkins.plugins.preemptible.engine.part;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.part.PartNotes.Part;
import io.jenkins.plugins.preemptible.engine.preflight.ContainerObstacles;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.util.ArrayList;
import java.util.List;

/** Why a stage with a part in a container cannot be dumped: what runs in either part, in words. */
public record PartObstacle(StageParts parts) {

    public SuspendFailedException refusal(StageId id) {
        return new SuspendFailedException(FailureReason.CONTAINER, shown(id));
    }

    public PreflightReport withOutside(StageId id, PreflightReport seen) {
        if (!parts.inner().checkpoints()) {
            return seen;
        }
        List<Obstacle> all = new ArrayList<>(List.of(ContainerObstacles.notDumped(shown(id))));
        all.addAll(seen.obstacles());
        return new PreflightReport(all, seen.options());
    }

    /** The container of the part, and what runs outside of it. */
    public String shown(StageId id) {
        Part part = parts.notes().of(id).orElseThrow();
        List<String> outside = new ArrayList<>(parts.processes().running(id));
        part.told().forEach(container -> outside.add(container.shown()));
        return part.container().shown() + (outside.isEmpty() ? "" : ", and outside of it " + names(outside));
    }

    /** As the programs are named that a stage has chosen: cleaned. */
    static String names(List<String> programs) {
        return PlainText.of(String.join(", ", programs));
    }
}
