package io.jenkins.plugins.preemptible.lifecycle.stage;

/** Keeps a stage busy for as long as a test likes. */
public final class HeldStage implements AutoCloseable {

    private final LiveStage live;

    /** Waits until nobody else is. */
    public HeldStage(String id) {
        live = LiveStage.find(id);
        live.operation().lock();
    }

    @Override
    public void close() {
        live.operation().unlock();
    }
}
