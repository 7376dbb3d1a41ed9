package io.jenkins.plugins.preemptible.engine.part;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.util.List;

/** What parts need of an engine; {@code Engine} says what each does. */
public interface StageVerbs {

    boolean checkpoints();

    StageStatus startIn(StageSpec spec, ContainerRef container, List<String> marks);

    EnterCommand enterCommand(StageId id);

    Frozen freeze(StageId id, FreezeRequest request);

    void commit(StageId id);

    void thaw(StageId id);

    StageStatus status(StageId id);

    List<StageStatus> list();

    void kill(StageId id);

    void forget(StageId id);

    void tellContainers(StageId id, List<ContainerRef> containers, List<String> marks);

    List<ContainerRef> containersOf(StageId id);

    void killInContainer(StageId id, ContainerRef container);
}
