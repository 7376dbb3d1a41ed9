package io.jenkins.plugins.preemptible.lifecycle;

import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageResumed;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LuggageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageClock;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StagesInMemory;
import io.jenkins.plugins.preemptible.view.ResumedStageAction;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * Attempts to resume a stage with everything given: an agent, an executor, a build and an image that do what a test wants.
 *
 * <p>{@link #effects} has each effect with the state that was saved before it.
 */
final class AttemptedResume implements StageAgent, ResumeSide, StageListener, StageClock, AutoCloseable {

    private static final String ID = "resumed-0123abcd";

    /** A piece of a fake that may fail, or change something else. */
    interface Step {
        void run() throws IOException, InterruptedException;
    }

    final StagesInMemory stages = new StagesInMemory();
    final LiveStage live = StagesInMemory.live(ID, this);
    final List<String> effects = new ArrayList<>();
    final List<String> log = new ArrayList<>();

    /** What is left on the agent; null for nothing. */
    AgentStage.Restore here;

    /** What comes of the image that only the agent has; null where it has none. */
    AgentStage.Restore unstored;

    AgentStage.Restore fromImage = restored("ARCHIVE");
    /** Why it is not restored on another agent; null where it is on its own one. */
    Restorer.NotMovedException notMoved;

    /** By which each refusal is counted. */
    final List<String> counted = new ArrayList<>();

    Step onAgent = () -> {};
    Step onResumeHere = () -> {};
    Step onFetch = () -> {};
    Step onTidyUp = () -> {};
    Step onLost = () -> {};
    boolean goesBack;
    AgentStage.Held held = AgentStage.Held.IMAGE;
    boolean imageIsDeleted = true;
    boolean hasBody = true;
    Step onLease = () -> {};
    long nowMillis = 1_000_000;

    /** A stage that is suspended, frozen or with an image. */
    AttemptedResume(boolean frozen) {
        stages.addRunning(ID);
        StageChanges.Suspended suspended = new StageChanges.Suspended(null, null, "Because.", nowMillis - 100);
        Secret key = Secret.fromString("a key");
        stages.update(ID, StageChanges.chosen());
        stages.update(
                ID,
                frozen
                        ? StageChanges.frozen(suspended, false, key)
                        : StageChanges.dumped(suspended, key, 1_000_000, null));
    }

    /** Its workspace is stored, too, and no process of it is left on its agent. */
    void withLuggage() {
        stages.update(ID, StageChanges.sealed(1_000_000, AttemptedSealing.luggage("token")));
        stages.update(ID, LuggageChanges.treeEnded(true));
    }

    static AgentStage.Restore restored(String tier) {
        EnterCommand enter = new EnterCommand.Direct(ID, 3, "", "/usr/bin/nsenter", "/usr/bin/setsid");
        return new AgentStage.Restore(null, tier, enter, 1, 2, 3, List.of("a clock differs"));
    }

    Resumption.Outcome run() throws InterruptedException {
        effects.clear();
        return new ResumptionSteps(live, stages, this, this).run();
    }

    StageRecord stage() {
        return stages.find(ID);
    }

    StageState state() {
        return stage().state();
    }

    /** When it is tried again, in milliseconds from now; {@code Long.MAX_VALUE} when people have to decide. */
    long pauseMillis() {
        long after = Pretended.retryAfterMillis(stage());
        return after == Long.MAX_VALUE ? after : after - nowMillis;
    }

    private void effect(String what) {
        effects.add((stage() == null ? "ENDED" : state()) + " " + what);
    }

    @Override
    public void close() {
        live.forget();
    }

    @Override
    public long nowMillis() {
        return nowMillis;
    }

    @Override
    public long nanoTime() {
        return 1_000_000_000 + TimeUnit.MILLISECONDS.toNanos(nowMillis);
    }

    @Override
    public StageAgent agent() throws IOException {
        effect("agent");
        try {
            onAgent.run();
        } catch (InterruptedException x) {
            throw new IOException(x);
        }
        return this;
    }

    @Override
    public Optional<AgentStage.Restore> restoreElsewhere(StageRecord stage) throws IOException {
        if (notMoved != null) {
            throw notMoved;
        }
        return Optional.empty();
    }

    @Override
    public AgentStage.Restore resumeHere(LastResort otherwise) throws IOException, InterruptedException {
        effect("resume here");
        onResumeHere.run();
        return here;
    }

    @Override
    public void fetchImage(StageRecord stage) throws IOException, InterruptedException {
        effect("fetch");
        onFetch.run();
    }

    @Override
    public AgentStage.Restore restoreUnstored(String key) {
        effect("restore unstored with " + key);
        return unstored;
    }

    @Override
    public AgentStage.Restore restore(String key) {
        effect("restore with " + key);
        return fromImage;
    }

    @Override
    public boolean deleteImage(StageRecord stage) throws IOException, InterruptedException {
        effect("delete");
        onTidyUp.run();
        return imageIsDeleted;
    }

    @Override
    public void showResumed(ResumedStageAction how) {
        effect("show");
    }

    @Override
    public String executorShown() {
        return "agent #1";
    }

    @Override
    public void say(String line) {
        log.add(line);
    }

    @Override
    public void say(String line, List<String> criuLines) {
        log.add(line);
    }

    @Override
    public void measured(String node, long bytes, long millis) {
        effect("measured");
    }

    @Override
    public void findOut() {
        effect("find out");
    }

    @Override
    public boolean lost() throws IOException, InterruptedException {
        effect("lost");
        onLost.run();
        return goesBack;
    }

    @Override
    public boolean mayGoBack(StageRecord stage) {
        return goesBack;
    }

    @Override
    public boolean goBack() {
        effect("go back");
        if (goesBack) {
            stages.rollBack(stage().id());
        }
        return goesBack;
    }

    @Override
    public boolean fail(String why) {
        if (hasBody) {
            effect("fail");
        }
        return hasBody;
    }

    @Override
    public void tell(Consumer<StageListener> event) {
        event.accept(this);
    }

    @Override
    public void onResumed(StageResumed event) {
        effect("told resumed");
    }

    @Override
    public void onRefused(StageRefused event) {
        effect("told refused");
        counted.add(event.phase() + " " + event.countedReason());
    }

    @Override
    public AgentStage.Freeze freeze(List<String> controlFolders, long memoryFloorBytes) {
        throw new AssertionError("no step of a resume asks that");
    }

    @Override
    public Awaited<AgentStage.Dump> dump(String key, boolean stayFrozen, boolean awaited) {
        throw new AssertionError("no step of a resume asks that");
    }

    @Override
    public Awaited<byte[]> askGrowing(long offset, int length) {
        throw new AssertionError("no step of a resume asks that");
    }

    @Override
    public long sum(long bytes) {
        throw new AssertionError("no step of a resume asks that");
    }

    @Override
    public Awaited<byte[]> askImage(long offset, int most) {
        throw new AssertionError("no step of a resume asks that");
    }

    @Override
    public AgentStage.NotKilled commit() {
        throw new AssertionError("no step of a resume asks that");
    }

    @Override
    public void thaw() {
        throw new AssertionError("no step of a resume asks that");
    }

    @Override
    public void leaseWorkspace(StageRecord stage) throws IOException, InterruptedException {
        onLease.run();
    }

    @Override
    public AgentStage.Held hold() {
        effect("hold");
        return held;
    }
}
