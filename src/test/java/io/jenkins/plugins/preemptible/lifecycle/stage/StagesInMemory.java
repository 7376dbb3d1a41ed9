package io.jenkins.plugins.preemptible.lifecycle.stage;

import hudson.util.Secret;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashMap;
import java.util.List;
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

    /** The stage has a checkpoint of step 7, and goes back to it. */
    public void rollBack(String id) {
        StageCheckpoint checkpoint = checkpoint(1);
        update(id, Checkpoints.set(Checkpoints.every(5).begin().with(checkpoint)));
        update(id, Checkpoints.rolledBack(checkpoint, "Its agent was lost.", 2_000_000));
    }

    static StageCheckpoint checkpoint(int number) {
        return new StageCheckpoint(
                "checkpoint-" + number + ".preempt",
                Secret.fromString("a checkpoint's key"),
                700,
                luggage("token"),
                List.of("7"),
                Map.of(),
                500_000,
                1_000,
                null);
    }

    /** A workspace of a host that is known by that token. */
    public static SealedLuggage luggage(String token) {
        HostTraits host = new HostTraits(
                "/root", token, true, "", List.of("sse2"), "6.1", "x86_64", "4.0", List.of("/"), 1, 1, Map.of());
        return SealedLuggage.of("workspace", Secret.fromString("another key"), 5_000, 9_000, host);
    }

    /** What the next process of the controller reads of it. */
    public StageRecord readAgain(String id) {
        return (StageRecord) StageFiles.XSTREAM.fromXML(StageFiles.XSTREAM.toXML(find(id)));
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
