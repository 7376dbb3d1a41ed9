package io.jenkins.plugins.preemptible.engine.part;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.part.PartNotes.Part;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The containers that the inner engine is told of: those of a stage's steps that entered none, and, while the stage is frozen
 * whole, that of its part.
 */
public record ToldContainers(StageParts parts) {

    public void tell(StageId id, List<ContainerRef> told) {
        parts.notes()
                .of(id)
                .filter(part -> !part.told().equals(told))
                .ifPresent(part -> parts.notes().write(id, part.withTold(told)));
    }

    /** Tells the inner engine only of the containers that it was told of, and no more of that which was frozen whole. */
    public void tellAgain(StageId id) {
        parts.notes()
                .of(id)
                .filter(part -> !part.told().equals(parts.inner().containersOf(id)) && parts.state(id) != null)
                .ifPresent(part -> parts.inner().tellContainers(id, part.told(), part.marks()));
    }

    public List<ContainerRef> withOwn(StageId id, List<ContainerRef> told) {
        Optional<Part> part = parts.notes().of(id);
        if (part.isEmpty()
                || told.stream().anyMatch(known -> isSame(known, part.get().container()))) {
            return told;
        }
        List<ContainerRef> all = new ArrayList<>(told);
        all.add(part.get().container());
        return all;
    }

    /** An id may be shorter than the other one. */
    static boolean isSame(ContainerRef one, ContainerRef other) {
        return one.program().equals(other.program())
                && (one.id().startsWith(other.id()) || other.id().startsWith(one.id()));
    }

    /** Of the part, where it is not counted with those containers. */
    public long residentBytes(StageId id) {
        Optional<Part> part = parts.notes().of(id);
        boolean counted = part.isPresent()
                && parts.inner().containersOf(id).stream()
                        .anyMatch(known -> isSame(known, part.get().container()));
        if (part.isEmpty() || counted || parts.state(id.contained()) == null) {
            return 0;
        }
        long init = parts.inner().status(id.contained()).initPid();
        return init == 0
                ? 0
                : Proc.tree(init).stream()
                        .mapToLong(process -> Proc.residentBytes(process.pid()))
                        .sum();
    }
}
