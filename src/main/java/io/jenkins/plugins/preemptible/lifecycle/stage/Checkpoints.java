package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.Event;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.function.Consumer;
import java.util.stream.Collectors;

/**
 * How often a stage gets checkpoints, and the last ones that were made of it. Saved with its record; never changes.
 *
 * <ol>
 *   <li>The current one and the one before are kept; {@link #files} tells which files they need.
 *   <li>Of what did not change the next one refers to the full image of the one that it replaces ({@link #replaced}), never to
 *       that of the one that stays: so the two share no file, and one that is spoiled does not take away both.
 *   <li>A stage whose processes are lost takes the current one for its image ({@link #rolledBack}); one that no agent
 *       restores is left for the other one ({@link #use}).
 * </ol>
 */
public final class Checkpoints {

    private static final int KEPT = 2;

    private final int everyMinutes;
    /** The newest first. */
    private final List<StageCheckpoint> made;
    /** Counts those that were begun, by which their files are named. */
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

    /** The number of the one that was begun last. */
    public int begun() {
        return begun;
    }

    public Checkpoints begin() {
        return new Checkpoints(everyMinutes, made, begun + 1);
    }

    public Checkpoints with(StageCheckpoint newest) {
        List<StageCheckpoint> all = new ArrayList<>(List.of(newest));
        StageCheckpoint stays = staying();
        if (stays != null) {
            all.add(stays);
        }
        return new Checkpoints(everyMinutes, all, begun);
    }

    /** The one that stays beside the next one: the newest that no agent has refused. Null when there is none yet. */
    @CheckForNull
    public StageCheckpoint staying() {
        return made.stream().filter(each -> !each.refused()).findFirst().orElse(made.isEmpty() ? null : made.get(0));
    }

    /** The one that the next one replaces and refers to; null when the next one is to be whole. */
    @CheckForNull
    public StageCheckpoint replaced() {
        StageCheckpoint stays = staying();
        return made.stream()
                .filter(each -> each != stays && !each.refused() && made.size() == KEPT)
                .findFirst()
                .orElse(null);
    }

    /** Names of all files that these checkpoints need. */
    public Set<String> files() {
        return made.stream().flatMap(each -> each.files().stream()).collect(Collectors.toSet());
    }

    /** The same; no agent could restore the one whose image has that name. */
    public Checkpoints refused(String file) {
        return new Checkpoints(
                everyMinutes,
                made.stream()
                        .map(each -> each.file().equals(file) ? each.withRefusal() : each)
                        .toList(),
                begun);
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
     * Its processes are lost: it becomes SUSPENDED, and what is sealed of it is the checkpoint. A stage that was suspended
     * before stays so since then, and for whom it was.
     *
     * @param reason a sentence, for one that had an executor
     * @param atMillis when that was found, in milliseconds since 1970
     */
    public static Consumer<StageRecord> rolledBack(StageCheckpoint to, String reason, long atMillis) {
        return stage -> {
            if (stage.holdsExecutor()) {
                new StageChanges.Suspended(null, null, reason, atMillis).in(stage, Event.ROLLED_BACK);
            } else {
                stage.state = StageLifecycle.next(stage.state, Event.ROLLED_BACK);
                StageChanges.triesAnew(stage);
            }
            stage.frozen = false;
            stage.memoryOnly = false;
            stage.thawByMillis = 0;
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
