package io.jenkins.plugins.preemptible.lifecycle.stage;

import hudson.util.Secret;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.lifecycle.agents.Measured;
import io.jenkins.plugins.preemptible.lifecycle.agents.Preflights;
import java.util.function.Consumer;

/** Facts about the stages of a build that a test cannot wait for. */
public final class Pretended {

    private Pretended() {}

    /** They were suspended that much longer ago. */
    public static void suspendedEarlier(String runId, long millis) {
        change(runId, stage -> stage.suspendedSinceMillis -= millis);
    }

    /** They began that much longer ago. */
    public static void startedEarlier(String runId, long millis) {
        change(runId, stage -> stage.startedMillis -= millis);
    }

    /** The last look has found something that cannot be dumped; the next one, seconds later, will not. */
    public static void cannotBeDumped(String runId) {
        change(runId, stage -> stage.leak = "A test says so");
    }

    /** A stage on that agent was looked at, which had so much free memory. */
    public static void measured(String node, long freeBytes) {
        Measured.of(node).freeBytes(freeBytes);
    }

    /** A stage of that build ended since it could not be restored. */
    public static void endedUnrestored(String id, String runId) {
        endedUncleaned(id, runId);
        StageRegistry.get().cleaned(id);
    }

    /** The same; and a cloud's agent, which was removed, was not cleaned of it. */
    public static void endedUncleaned(String id, String runId) {
        StageRecord stage = StageRecord.running(id, StageRecord.Form.OWN, runId, "stage", "agent", "", null, 3, 0);
        stage.imageKept = true;
        stage.imageKey = Secret.fromString("a key");
        stage.onCloud = true;
        StageRegistry.get().add(stage);
        StageRegistry.get().ended(id);
    }

    /** A record of a stage that runs since then, known to nobody. */
    public static StageRecord running(String id, String owner, long startedMillis) {
        StageRecord stage = StageRecord.running(id, StageRecord.Form.OWN, "run", "stage", "agent", "", null, 3, 0);
        stage.owner = owner;
        stage.startedMillis = startedMillis;
        return stage;
    }

    /** A record of a stage of that build that is suspended for a build of that job, known to nobody. */
    public static StageRecord suspendedFor(String runId, String preemptor, String preemptorJob, String reason) {
        StageRecord stage = StageRecord.running("id", StageRecord.Form.NESTED, runId, "stage", "agent", "", null, 5, 0);
        suspend(stage, stage.startedMillis);
        stage.preemptor = preemptor;
        stage.preemptorJob = preemptorJob;
        stage.reason = reason;
        return stage;
    }

    /** The same record after its resume failed as often as it is tried. */
    public static StageRecord notResumed(StageRecord stage, String why) {
        stage.whyNotResumed = why;
        return stage;
    }

    /** As after its last attempt to resume on its own agent. */
    public static void undecided(String id, String why) {
        StageRegistry.get().update(id, stage -> {
            stage.restoreFailures = 3;
            StageChanges.undecidedAfter(3, why, System.currentTimeMillis()).accept(stage);
        });
    }

    /** The same record under another id. */
    public static StageRecord withId(StageRecord stage, String id) {
        stage.id = id;
        return stage;
    }

    /** The same record with a sealed image of a megabyte. */
    public static StageRecord sealed(StageRecord stage) {
        stage.imageKey = Secret.fromString("a key");
        stage.imageFile = ImagePath.FILE;
        stage.archiveBytes = 1 << 20;
        return stage;
    }

    /** The same record on another agent. @param node its name, empty for the built-in node */
    public static StageRecord withNode(StageRecord stage, String node) {
        stage.node = node;
        return stage;
    }

    public static void suspend(StageRecord stage, long sinceMillis) {
        stage.state = StageState.SUSPENDED;
        stage.suspendedSinceMillis = sinceMillis;
    }

    /** The state between the suspension and the run that follows it. */
    public static void resume(StageRecord stage) {
        stage.state = StageState.RESUMING;
    }

    public static void goOn(StageRecord stage, long sinceMillis) {
        stage.state = StageState.RUNNING;
        stage.runningSinceMillis = sinceMillis;
        stage.withoutExecutorMillis += sinceMillis - stage.suspendedSinceMillis;
    }

    /** When the stage is tried again, by the clock that said so; {@code Long.MAX_VALUE} when people have to decide. */
    public static long retryAfterMillis(StageRecord stage) {
        return stage.retryAfterMillis;
    }

    /** Whatever made the stage wait for its next attempt is over. */
    public static void hurry(String id) {
        LiveStage live = LiveStage.find(id);
        if (live != null) {
            live.retryAfter(0);
        }
        StageRegistry.get().settle(id, stage -> {
            stage.retryAfterMillis = 0;
            stage.leak = null;
        });
    }

    /** Asks the agent now what stands against a suspension. */
    public static void look(String id) throws InterruptedException {
        Preflights.look(id);
    }

    /** What the agent of a stage with a sandbox tells. */
    public static EnterCommand enter(String id) {
        return new EnterCommand.Direct(id, 2, "", "/usr/bin/nsenter", "/usr/bin/setsid");
    }

    private static void change(String runId, Consumer<StageRecord> change) {
        for (StageRecord stage : StageRegistry.get().all()) {
            if (stage.runId.equals(runId)) {
                StageRegistry.get().update(stage.id, change);
            }
        }
    }
}
