package io.jenkins.plugins.preemptible.engine.policy;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Set;

/**
 * Which running stages get a checkpoint now. Pure.
 *
 * <ol>
 *   <li>A stage is due when its interval has passed since its last checkpoint, or since it last began to run.
 *   <li>One that was refused waits a tenth of its interval, a minute at least.
 *   <li>At most one an agent at a time, the most overdue first: they compete for its processors and its disk.
 * </ol>
 */
public final class CheckpointPace {

    private static final int PART_AFTER_REFUSAL = 10;

    private CheckpointPace() {}

    /**
     * A stage that runs. Times are milliseconds since 1970; 0 = never.
     *
     * @param everyMillis its interval, above 0
     * @param sinceMillis when its last checkpoint was made, or it last began to run, whichever is later
     * @param refusedMillis when an attempt last came to nothing
     * @param busy whether it is being checkpointed, suspended, resumed or ended
     */
    public record Running(
            String stage, String agent, long everyMillis, long sinceMillis, long refusedMillis, boolean busy) {}

    /**
     * The ids of the stages that are due.
     *
     * @param leastPauseMillis after a refusal
     */
    public static List<String> due(List<Running> stages, long nowMillis, long leastPauseMillis) {
        Set<String> busyAgents = new HashSet<>();
        stages.stream().filter(Running::busy).forEach(stage -> busyAgents.add(stage.agent()));
        List<Running> waiting = new ArrayList<>(stages.stream()
                .filter(stage -> !stage.busy() && dueMillis(stage, leastPauseMillis) <= nowMillis)
                .toList());
        waiting.sort(Comparator.comparingLong((Running stage) -> stage.sinceMillis() + stage.everyMillis())
                .thenComparing(Running::stage));
        List<String> due = new ArrayList<>();
        for (Running stage : waiting) {
            if (busyAgents.add(stage.agent())) {
                due.add(stage.stage());
            }
        }
        return due;
    }

    private static long dueMillis(Running stage, long leastPauseMillis) {
        long pause = Math.max(leastPauseMillis, stage.everyMillis() / PART_AFTER_REFUSAL);
        long again = stage.refusedMillis() == 0 ? 0 : stage.refusedMillis() + pause;
        return Math.max(stage.sinceMillis() + stage.everyMillis(), again);
    }
}
