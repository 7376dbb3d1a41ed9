package io.jenkins.plugins.preemptible.engine.demo;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.policy.Action;
import io.jenkins.plugins.preemptible.engine.policy.Limits;
import io.jenkins.plugins.preemptible.engine.policy.PreemptionPolicy;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;

/**
 * A queue with one executor, driven by the same policy and engine as Jenkins' own.
 *
 * <ol>
 *   <li>{@link #step} takes a snapshot, asks the policy, and carries out what it says.
 *   <li>An item starts where the policy says that an executor is free or reserved for it.
 *   <li>A suspended stage gives its executor away at the freeze; its image is sealed meanwhile, on a thread of its own.
 * </ol>
 *
 * One thread uses it.
 */
final class EmbeddedQueue {

    private static final String AGENT = "this-host";
    private static final Limits LIMITS = new Limits(true, 0, 0, 0);

    /** One job of the queue: what it runs, and what became of it; times are those of the timeline, 0 = not yet. */
    static final class Job {
        final String name;
        final int priority;
        final StageSpec spec;
        final long submittedMillis;
        long startedMillis;
        long endedMillis;
        long resumedMillis;
        long suspendedMillis;
        Integer exitCode;
        Frozen suspension;
        CompletableFuture<Void> sealing;
        /** When the image was sealed and the frozen processes ended; to be read once {@link #sealing} is done. */
        long sealedMillis;

        ResumeReport resumption;

        Job(String name, int priority, StageSpec spec, long submittedMillis) {
            this.name = name;
            this.priority = priority;
            this.spec = spec;
            this.submittedMillis = submittedMillis;
        }

        StageId id() {
            return spec.id();
        }

        @Override
        public String toString() {
            return name + " (priority " + priority + ")";
        }
    }

    private final Engine engine;
    private final ImageKey key = ImageKey.generate();
    private final Path archives;
    private final DemoTimeline timeline;
    private final Map<String, Job> jobs = new HashMap<>();
    private final List<Job> waiting = new ArrayList<>();
    private final List<Job> suspended = new ArrayList<>();
    private Job running;
    private String reservedFor;

    EmbeddedQueue(Engine engine, Path archives, DemoTimeline timeline) {
        this.engine = engine;
        this.archives = archives;
        this.timeline = timeline;
    }

    /** Suspends a small stage, as agents of Jenkins do when they connect: a first suspension waits for Java's classes. */
    void rehearse(StageSpec sandbox) {
        engine.start(sandbox);
        try {
            engine.freeze(sandbox.id(), FreezeRequest.plain());
            engine.thaw(sandbox.id());
        } finally {
            engine.kill(sandbox.id());
            engine.forget(sandbox.id());
        }
        timeline.say("engine", "has rehearsed a suspension, as agents do when they connect");
    }

    Job submit(String name, int priority, StageSpec spec) {
        Job job = new Job(name, priority, spec, timeline.millis());
        jobs.put(spec.id().value(), job);
        waiting.add(job);
        timeline.say("queue", job + " arrives" + (running == null ? "" : "; the executor runs " + running));
        return job;
    }

    boolean isEmpty() {
        return running == null && waiting.isEmpty() && suspended.isEmpty();
    }

    /** Does what there is to do now; returns at once when there is nothing. */
    void step() {
        noticeEnd();
        for (Action action : PreemptionPolicy.decide(snapshot())) {
            if (carryOut(action)) {
                return;
            }
        }
    }

    private void noticeEnd() {
        if (running == null) {
            return;
        }
        StageStatus status = engine.status(running.id());
        if (status.state() == StageStatus.State.RUNNING) {
            return;
        }
        running.exitCode = status.exitCode();
        running.endedMillis = timeline.millis();
        timeline.say("executor", running + " ended with exit code " + status.exitCode());
        engine.forget(running.id());
        running = null;
    }

    private Snapshot snapshot() {
        List<Snapshot.RunningStage> stages = running == null
                ? List.of()
                : List.of(new Snapshot.RunningStage(
                        running.id().value(),
                        AGENT,
                        running.priority,
                        running.startedMillis,
                        Math.max(running.startedMillis, running.resumedMillis),
                        running.suspension == null ? 0 : 1,
                        0,
                        null,
                        0));
        return new Snapshot(
                timeline.millis(),
                LIMITS,
                List.of(new Snapshot.Agent(AGENT, running == null ? 1 : 0, true)),
                stages,
                suspended.stream()
                        .map(job -> new Snapshot.SuspendedStage(
                                job.id().value(),
                                Set.of(AGENT),
                                job.priority,
                                "",
                                job.suspendedMillis,
                                null,
                                false,
                                null,
                                false,
                                0,
                                Set.of(),
                                0))
                        .toList(),
                waiting.stream()
                        .map(job -> new Snapshot.WaitingItem(
                                job.id().value(),
                                job.priority,
                                job.submittedMillis,
                                Set.of(AGENT),
                                job.id().value().equals(reservedFor) ? AGENT : null))
                        .toList());
    }

    private boolean carryOut(Action action) {
        if (action instanceof Action.Suspend suspend) {
            suspend(jobs.get(suspend.stageId()), jobs.get(suspend.forItem()), suspend.reason());
            return true;
        }
        if (action instanceof Action.Resume resume) {
            resume(jobs.get(resume.stageId()), resume.reason());
            return true;
        }
        Job job = jobs.get(action.claimant());
        boolean mayStart =
                action.reason() == Reason.EXECUTOR_FREE_ALREADY || action.reason() == Reason.EXECUTOR_RESERVED;
        if (mayStart && running == null && waiting.contains(job)) {
            start(job);
            return true;
        }
        return false;
    }

    private void start(Job job) {
        engine.start(job.spec);
        job.startedMillis = timeline.millis();
        waiting.remove(job);
        reservedFor = null;
        running = job;
        timeline.say(
                "executor", job + " starts, after " + (job.startedMillis - job.submittedMillis) + " ms in the queue");
    }

    private void suspend(Job victim, Job preemptor, Reason reason) {
        timeline.say("policy", "suspend " + victim + " for " + preemptor + ": " + reason.sentence());
        long begun = timeline.millis();
        victim.suspension = engine.freeze(victim.id(), FreezeRequest.plain());
        victim.suspendedMillis = timeline.millis();
        running = null;
        suspended.add(victim);
        reservedFor = preemptor.id().value();
        timeline.say(
                "engine",
                victim + " is frozen after " + (victim.suspendedMillis - begun) + " ms, and the executor is free: "
                        + victim.suspension.processes() + " processes, "
                        + (victim.suspension.residentBytes() >> 20) + " MiB of memory");
        if (engine.checkpoints()) {
            victim.sealing = CompletableFuture.runAsync(() -> seal(victim));
        }
    }

    private void seal(Job victim) {
        Checkpoint sealed = engine.dump(victim.id(), archive(victim), key, IfDumpFails.STAY_FROZEN);
        engine.commit(victim.id());
        victim.sealedMillis = timeline.millis();
        timeline.say(
                "engine",
                victim + ": its image is sealed, its memory is free: dumped in " + sealed.dumpMillis() + ", sealed in "
                        + sealed.archiveMillis() + " ms; " + sealed.imageBytes() + " bytes, sealed "
                        + sealed.archiveBytes());
    }

    private void resume(Job stage, Reason reason) {
        timeline.say("policy", "resume " + stage + ": " + reason.sentence());
        if (stage.sealing == null) {
            stage.resumption = engine.resumeHere(stage.id()).orElseThrow();
        } else {
            await(stage.sealing);
            stage.resumption = engine.resume(archive(stage), key);
        }
        stage.resumedMillis = timeline.millis();
        suspended.remove(stage);
        running = stage;
        timeline.say(
                "engine",
                stage + " is resumed: " + stage.resumption.processes() + " processes, unpacked in "
                        + stage.resumption.unpackMillis() + " ms, restored in " + stage.resumption.restoreMillis()
                        + " ms");
    }

    private static void await(CompletableFuture<Void> sealing) {
        try {
            sealing.join();
        } catch (CompletionException e) {
            throw e.getCause() instanceof EngineException refused ? refused : e;
        }
    }

    private Path archive(Job job) {
        return archives.resolve(job.id() + ".image");
    }

    /** Ends what is left, for a demo that failed. */
    void killAll() {
        for (Job job : jobs.values()) {
            if (job.startedMillis > 0 && job.endedMillis == 0) {
                engine.kill(job.id());
            }
        }
    }
}
