package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.host.HostReport;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageSpec;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus;
import java.nio.file.Path;
import java.util.List;

/**
 * All stages of this host under one home folder.
 */
public final class Engine {

    private Engine() {}

    public static Engine open(Path home) {
        throw new UnsupportedOperationException();
    }

    public HostReport check() {
        throw new UnsupportedOperationException();
    }

    public StageStatus start(StageSpec spec) {
        throw new UnsupportedOperationException();
    }

    public List<String> enterCommand(StageId id) {
        throw new UnsupportedOperationException();
    }

    public Checkpoint dump(StageId id, Path archive, ImageKey key, DumpGuard guard) {
        throw new UnsupportedOperationException();
    }

    public void commit(StageId id) {
        throw new UnsupportedOperationException();
    }

    public void thaw(StageId id) {
        throw new UnsupportedOperationException();
    }

    public SuspendReport suspend(StageId id, Path archive, ImageKey key) {
        throw new UnsupportedOperationException();
    }

    public ResumeReport resume(Path archive, ImageKey key) {
        throw new UnsupportedOperationException();
    }

    public StageStatus status(StageId id) {
        throw new UnsupportedOperationException();
    }

    public List<StageStatus> list() {
        throw new UnsupportedOperationException();
    }

    public int await(StageId id) throws InterruptedException {
        throw new UnsupportedOperationException();
    }

    public void kill(StageId id) {
        throw new UnsupportedOperationException();
    }

    public void forget(StageId id) {
        throw new UnsupportedOperationException();
    }
}
