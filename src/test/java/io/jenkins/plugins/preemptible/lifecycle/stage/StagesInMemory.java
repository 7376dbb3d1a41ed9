package io.jenkins.plugins.preemptible.lifecycle.stage;

import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;

/** Records of stages without a disk, for tests that need no Jenkins. Used by one thread. */
public final class StagesInMemory implements StageStore {

    private final Map<String, StageRecord> stages = new HashMap<>();

    /** How many further updates the disk takes before it is full. */
    public int room = Integer.MAX_VALUE;

    /** How many further updates find the stage before it ends. */
    public int untilEnd = Integer.MAX_VALUE;

    /** A stage that runs, and could be suspended. */
    public void addRunning(String id) {
        StageRecord stage = StageRecord.running(id, StageRecord.Form.OWN, "job#1", "stage", "agent", "/w", null, 5, 0);
        stage.opened(new EnterCommand.Direct(id, 2, "", "/usr/bin/nsenter", "/usr/bin/setsid"), null);
        stages.put(id, stage);
    }

    /** A stage whose processes have a clock and no Pipeline. */
    public static LiveStage live(String id, StageClock clock) {
        return LiveStage.registerForTest(id, null, clock);
    }

    @Override
    public StageRecord find(String id) {
        return stages.get(id);
    }

    @Override
    public StageRecord update(String id, Consumer<StageRecord> change) {
        if (untilEnd-- == 0) {
            stages.remove(id);
        }
        if (stages.containsKey(id) && room-- <= 0) {
            throw new UncheckedIOException(new IOException("the disk is full"));
        }
        return settle(id, change);
    }

    @Override
    public StageRecord settle(String id, Consumer<StageRecord> change) {
        return stages.computeIfPresent(id, (key, stage) -> {
            StageRecord changed = stage.clone();
            change.accept(changed);
            changed.clean();
            return changed;
        });
    }
}
