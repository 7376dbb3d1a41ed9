package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * How often a stage gets checkpoints, and the last ones that were made of it. Saved with its record; never changes.
 *
 * <ol>
 *   <li>The current one and the one before are kept; {@link #with} tells by what is left which files can go.
 *   <li>A stage whose agent is lost takes the current one for its image ({@link #rolledBack}); one that no agent restores
 *       is left for the other one ({@link #use}).
 * </ol>
 */
public final class Checkpoints {

    private static final int KEPT = 2;

    private final int everyMinutes;
    /** The newest first. */
    private final List<StageCheckpoint> made;
    /** Counts those that were begun: no file's name is used twice. */
    private final int begun;

    private Checkpoints(int everyMinutes, List<StageCheckpoint> made, int begun) {
        this.everyMinutes = everyMinutes;
        this.made = new ArrayList<>(made);
        this.begun = begun;
    }

    /** @param everyMinutes 0 = none are made */
    @CheckForNull
    public static Checkpoints every(int everyMinutes) {
        return everyMinutes == 0 ? null : new Checkpoints(everyMinutes, List.of(), 0);
    }

    public int everyMinutes() {
        return everyMinutes;
    }

    /** The newest first. */
    public List<StageCheckpoint> made() {
        return List.copyOf(made);
    }

    /** How many were begun. */
    public int begun() {
        return begun;
    }

    public Checkpoints begin() {
        return new Checkpoints(everyMinutes, made, begun + 1);
    }

    public Checkpoints with(StageCheckpoint newest) {
        List<StageCheckpoint> all = new ArrayList<>(List.of(newest));
        all.addAll(made.subList(0, Math.min(made.size(), KEPT - 1)));
        return new Checkpoints(everyMinutes, all, begun);
    }

    /** The one whose image has that name; null when there is none. */
    @CheckForNull
    public StageCheckpoint named(@CheckForNull String file) {
        return made.stream()
                .filter(each -> each.file().equals(file))
                .findFirst()
                .orElse(null);
    }

    /** For an update of a record: these are its checkpoints now. */
    public static Consumer<StageRecord> set(Checkpoints checkpoints) {
        return stage -> stage.checkpoints = checkpoints;
    }

    /**
     * Its agent is lost: RUNNING becomes SUSPENDED, and what is sealed of it is the checkpoint.
     *
     * @param reason a sentence
     * @param atMillis when that was found, in milliseconds since 1970
     */
    public static Consumer<StageRecord> rolledBack(StageCheckpoint to, String reason, long atMillis) {
        return stage -> {
            stage.state = StageLifecycle.next(stage.state, Event.SUSPEND_REQUESTED);
            new StageChanges.Suspended(null, null, reason, atMillis).in(stage, Event.DUMPED);
            stage.frozen = false;
            stage.memoryOnly = false;
            use(to).accept(stage);
        };
    }

    /** Of a stage that was rolled back: it is resumed from this one. */
    public static Consumer<StageRecord> use(StageCheckpoint checkpoint) {
        return stage -> {
            stage.imageKey = checkpoint.key();
            stage.imageFile = checkpoint.file();
            stage.archiveBytes = checkpoint.archiveBytes();
            stage.luggage = checkpoint.luggage().withTreeEnded(true);
        };
    }
}
