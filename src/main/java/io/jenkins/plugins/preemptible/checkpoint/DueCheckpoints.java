package io.jenkins.plugins.preemptible.checkpoint;

import hudson.Extension;
import hudson.model.PeriodicWork;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.CheckpointPace;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.Checkpoints;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageCheckpoint;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import jenkins.model.Jenkins;

/**
 * Begins checkpoints when they are due.
 *
 * <ol>
 *   <li>Looks every five seconds, in memory only; {@link CheckpointPace} decides.
 *   <li>None begins while Jenkins is quieting down, nor on an agent that is away.
 * </ol>
 */
@Extension
public final class DueCheckpoints extends PeriodicWork {

    private static final Set<String> UNDER_WAY = ConcurrentHashMap.newKeySet();
    /** When an attempt last came to nothing, by the stage's id. */
    private static final Map<String, Long> REFUSED = new ConcurrentHashMap<>();

    /** How long a minute of an interval is; tests have shorter ones. */
    private static long minuteMillis() {
        return Long.getLong(DueCheckpoints.class.getName() + ".minuteMillis", TimeUnit.MINUTES.toMillis(1));
    }

    @Override
    public long getRecurrencePeriod() {
        return Math.min(TimeUnit.SECONDS.toMillis(5), minuteMillis());
    }

    @Override
    protected void doRun() {
        Jenkins jenkins = Jenkins.get();
        Collection<StageRecord> all = StageRegistry.get().all();
        REFUSED.keySet().retainAll(all.stream().map(StageRecord::id).toList());
        if (jenkins.isQuietingDown()
                || jenkins.isTerminating()
                || !PreemptibleConfiguration.get().isMoveStages()) {
            return;
        }
        List<CheckpointPace.Running> running = new ArrayList<>();
        for (StageRecord stage : all) {
            LiveStage live = LiveStage.find(stage.id());
            if (live != null && isToHaveSome(stage)) {
                running.add(running(stage, live, stage.checkpoints()));
            }
        }
        for (String id : CheckpointPace.due(running, System.currentTimeMillis(), minuteMillis())) {
            begin(id);
        }
    }

    /** Without a sandbox there is nothing to dump: such a stage keeps no other one of its agent waiting. */
    private static boolean isToHaveSome(StageRecord stage) {
        return stage.checkpoints() != null && stage.state() == StageState.RUNNING && stage.hasSandbox();
    }

    private static CheckpointPace.Running running(StageRecord stage, LiveStage live, Checkpoints checkpoints) {
        long last = checkpoints.made().stream()
                .mapToLong(StageCheckpoint::atMillis)
                .findFirst()
                .orElse(0);
        return new CheckpointPace.Running(
                stage.id(),
                stage.node(),
                checkpoints.everyMinutes() * minuteMillis(),
                Math.max(last, stage.runningSinceMillis()),
                REFUSED.getOrDefault(stage.id(), 0L),
                UNDER_WAY.contains(stage.id()) || live.busy() || live.ending() || Nodes.rootOf(stage.node()) == null);
    }

    private static void begin(String id) {
        LiveStage live = LiveStage.find(id);
        if (live == null || !UNDER_WAY.add(id)) {
            return;
        }
        StageThreads.sealOn(StageThreads.agentOf(id), "a checkpoint of stage " + id, () -> {
            boolean made = false;
            try {
                made = new Checkpointing(live).make();
            } finally {
                if (made) {
                    REFUSED.remove(id);
                } else {
                    REFUSED.put(id, System.currentTimeMillis());
                }
                UNDER_WAY.remove(id);
            }
        });
    }
}
