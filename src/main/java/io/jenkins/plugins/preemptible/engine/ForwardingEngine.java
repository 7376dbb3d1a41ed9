package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.image.Arrival;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.function.BooleanSupplier;

/** An engine around another one, to which it leaves what concerns neither suspensions nor ends. */
interface ForwardingEngine extends Engine {

    Engine inner();

    @Override
    default boolean checkpoints() {
        return inner().checkpoints();
    }

    @Override
    default HostReport check() {
        return inner().check();
    }

    @Override
    default StageStatus start(StageSpec spec) {
        return inner().start(spec);
    }

    @Override
    default StageStatus startIn(StageSpec spec, ContainerRef container, List<String> marks) {
        return inner().startIn(spec, container, marks);
    }

    @Override
    default void unpackAhead(Path archive, ImageKey key, Arrival arrival, BooleanSupplier cancelled)
            throws IOException {
        inner().unpackAhead(archive, key, arrival, cancelled);
    }

    @Override
    default void dropUnpacked(Path archive) throws IOException {
        inner().dropUnpacked(archive);
    }

    @Override
    default EnterCommand enterCommand(StageId id) {
        return inner().enterCommand(id);
    }

    @Override
    default int await(StageId id) throws InterruptedException {
        return inner().await(id);
    }
}
