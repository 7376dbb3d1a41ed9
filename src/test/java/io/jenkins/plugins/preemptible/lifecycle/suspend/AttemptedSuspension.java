package io.jenkins.plugins.preemptible.lifecycle.suspend;

import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.event.StageSuspended;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageClock;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import io.jenkins.plugins.preemptible.lifecycle.stage.StagesInMemory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;

/**
 * One attempt at a suspension with everything given: an agent, an executor, a build and an image that do what a test wants.
 *
 * <p>{@link #effects} has each effect with the state that was saved before it.
 */
final class AttemptedSuspension
        implements StageAgent, StageExecutor, StageImage, StageBuild, StageListener, StageClock, AutoCloseable {

    private static final String ID = "stage-0123abcd";

    /** A piece of a fake that may fail, or change something else. */
    interface Step {
        void run() throws IOException;
    }

    final StagesInMemory stages = new StagesInMemory();
    final LiveStage live = StagesInMemory.live(ID, this);
    final List<String> effects = new ArrayList<>();
    final List<String> log = new ArrayList<>();
    final List<StageThreads.Work> later = new ArrayList<>();

    // What the agent answers.
    AgentStage.Freeze frozen = freeze(null, true, false);
    AgentStage.Dump dumped = dump(null);
    AgentStage.NotKilled notKilled;
    AgentStage.Restore found;
    AgentStage.Held held = AgentStage.Held.GONE;
    long nowMillis = 1_000_000;
    Step onFreeze = () -> {};
    Step onDump = () -> {};
    Step onCommit = () -> {};
    Step onThaw = () -> {};
    Step onStore = () -> {};
    Step onRelease = () -> {};

    // What the controller finds.
    boolean hasExecutor = true;
    boolean wanted = true;
    boolean stepsChanged;
    String objection;
    String tooLarge;
    long roomBytes = Long.MAX_VALUE;
    long sealAfterMillis;
    boolean agentIsThere = true;

    AttemptedSuspension() {
        stages.addRunning(ID);
    }

    static AgentStage.Freeze freeze(AgentStage.Refusal refusal, boolean handOver, boolean memoryOnly) {
        return new AgentStage.Freeze(refusal, 1, 2, 3, 4_000_000, handOver, "Too little memory", memoryOnly);
    }

    static AgentStage.Dump dump(AgentStage.Refusal refusal) {
        return new AgentStage.Dump(refusal, 10, 20, 4_000_000, 1_000_000, 3);
    }

    OptionalLong run() throws Exception {
        Suspension.Request request = new Suspension.Request(
                null,
                null,
                Reason.HIGHER_PRIORITY_WAITS,
                () -> wanted,
                () -> effect("keep"),
                sealAfterMillis,
                nanoTime() - TimeUnit.MILLISECONDS.toNanos(7));
        FrozenStage frozenStage = new FrozenStage(
                stages,
                (node, id) -> this,
                (agent, what, delayMillis, work) -> later.add(work),
                (stage, text, criuLines) -> log.add(text));
        return new SuspensionSteps(
                        live,
                        request,
                        new SuspensionSteps.Given(
                                stages,
                                this,
                                this,
                                stage -> hasExecutor ? this : null,
                                frozenStage,
                                this,
                                5,
                                new SuspensionSteps.FrozenOnlyRoom(stage -> 0, 600_000)))
                .run();
    }

    StageRecord stage() {
        return stages.find(ID);
    }

    StageState state() {
        return stage().state();
    }

    /** For how long the stage is spared, in milliseconds. */
    long sparedMillis() {
        return live.retryAfterMillis() == 0 ? 0 : live.retryAfterMillis() - nowMillis();
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
    public AgentStage.Freeze freeze(List<String> controlFolders, long memoryFloorBytes) throws IOException {
        effect("freeze");
        onFreeze.run();
        return frozen;
    }

    @Override
    public Awaited<AgentStage.Dump> dump(String key, boolean stayFrozen, boolean awaited) throws IOException {
        effect("dump");
        onDump.run();
        return () -> dumped;
    }

    @Override
    public AgentStage.NotKilled commit() throws IOException {
        effect("kill");
        onCommit.run();
        return notKilled;
    }

    @Override
    public void thaw() throws IOException {
        effect("thaw");
        onThaw.run();
    }

    @Override
    public AgentStage.Held hold() {
        return held;
    }

    @Override
    public AgentStage.Restore resumeHere(LastResort otherwise) {
        return found;
    }

    @Override
    public AgentStage.Restore restore(String key) {
        throw new AssertionError("no step of a suspension asks that");
    }

    @Override
    public Awaited<byte[]> askGrowing(long offset, int length) {
        throw new AssertionError("the image is stored by a fake");
    }

    @Override
    public long sum(long bytes) {
        throw new AssertionError("the image is stored by a fake");
    }

    @Override
    public Awaited<byte[]> askImage(long offset, int most) {
        throw new AssertionError("the image is stored by a fake");
    }

    @Override
    public String shown() {
        return "agent #1";
    }

    @Override
    public String agentName() {
        return "agent";
    }

    @Override
    public StageAgent agent() throws IOException {
        if (!agentIsThere) {
            throw new IOException("the agent is offline");
        }
        return this;
    }

    @Override
    public void release(StageRecord stage) throws IOException {
        effect("release");
        onRelease.run();
    }

    @Override
    public void resumeOn(StageRecord stage) {
        effect("resume");
    }

    @Override
    public Secret newKey() {
        return Secret.fromString("a key");
    }

    @Override
    public String tooLarge(long bytes) {
        return tooLarge;
    }

    @Override
    public String shortage(long bytes) {
        return bytes > roomBytes ? "The disk is full." : null;
    }

    @Override
    public void store(StageAgent agent, long bytes) throws IOException {
        effect("store");
        onStore.run();
    }

    @Override
    public String why(Exception failure) {
        return failure.getMessage();
    }

    @Override
    public void discard() {
        effect("discard");
    }

    @Override
    public void findOut() {
        effect("find out");
    }

    @Override
    public void makeLater(StageRecord stage, long delayMillis) {
        effect("image after " + delayMillis);
    }

    @Override
    public String objection() {
        return objection;
    }

    @Override
    public boolean stepsChanged() {
        return stepsChanged;
    }

    @Override
    public void say(String line) {
        log.add(line);
    }

    @Override
    public void say(String line, List<String> criuLines) {
        log.add(line);
        log.addAll(criuLines);
    }

    @Override
    public void showSuspended(StageRecord stage) {
        effect("show");
    }

    @Override
    public void sayInMemoryOnly(String agent) {
        effect("memory only");
    }

    @Override
    public Progress progress(StageRecord stage) {
        return () -> {};
    }

    @Override
    public void measured(String node, long bytes, long millis) {
        effect("measured");
    }

    @Override
    public void tell(Consumer<StageListener> event) {
        event.accept(this);
    }

    @Override
    public void onSuspended(StageSuspended event) {
        effect("told suspended");
    }

    @Override
    public void onSealed(StageSealed event) {
        effect("told sealed");
    }

    @Override
    public void onRefused(StageRefused event) {
        effect("told refused");
    }
}
