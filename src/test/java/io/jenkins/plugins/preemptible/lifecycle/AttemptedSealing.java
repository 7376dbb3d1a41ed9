package io.jenkins.plugins.preemptible.lifecycle;

import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.event.StageRefused;
import io.jenkins.plugins.preemptible.event.StageSealed;
import io.jenkins.plugins.preemptible.lifecycle.image.ArchiveRoom;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageClock;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StagesInMemory;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * Attempts at the image of a frozen stage with everything given: an agent, a build and a disk that do what a test wants.
 *
 * <p>{@link #effects} has each effect with whether the saved record says that the stage is frozen or has an image.
 */
final class AttemptedSealing implements StageAgent, SealSide, StageListener, AutoCloseable {

    private static final String ID = "sealed-0123abcd";

    /** A piece of a fake that may fail, or change something else. */
    interface Step {
        void run() throws IOException;
    }

    final StagesInMemory stages = new StagesInMemory();
    final LiveStage live = StagesInMemory.live(ID, new Clock());
    final List<String> effects = new ArrayList<>();
    final List<String> log = new ArrayList<>();
    final SealingSteps steps;

    /** What became of the workspace. */
    final List<String> packing = new ArrayList<>();

    AgentStage.Dump dumped = dump(null);
    AgentStage.Held held = AgentStage.Held.FROZEN;
    AgentStage.NotKilled notKilled;
    long thawByMillis;
    String tooLarge;
    ArchiveRoom.Shortage shortage;
    boolean isThere = true;
    boolean awaited;
    SealedLuggage luggage;
    /** By which the system's clock is ahead for this stage. */
    long nanos;

    Step onAgent = () -> {};
    Step onDump = () -> {};
    Step onStore = () -> {};
    Step onLuggage = () -> {};
    Step onCommit = () -> {};
    Step onLost = () -> {};

    private final class Clock implements StageClock {
        @Override
        public long nowMillis() {
            return System.currentTimeMillis();
        }

        @Override
        public long nanoTime() {
            return System.nanoTime() + nanos;
        }
    }

    /** @param uncertain as after a restart of the controller */
    AttemptedSealing(boolean uncertain) {
        stages.addRunning(ID);
        stages.update(ID, StageChanges.chosen());
        stages.update(
                ID,
                StageChanges.frozen(
                        new StageChanges.Suspended(null, null, "Because.", 1_000_000),
                        false,
                        Secret.fromString("a key")));
        steps = new SealingSteps(
                live,
                1,
                uncertain,
                stages,
                (node, id) -> {
                    onAgent.run();
                    return this;
                },
                this,
                StageClock.SYSTEM);
    }

    static AgentStage.Dump dump(AgentStage.Refusal refusal) {
        return new AgentStage.Dump(refusal, 10, 20, 4_000_000, 1_000_000, 3);
    }

    long attempt() throws InterruptedException {
        effects.clear();
        return steps.attempt();
    }

    StageRecord stage() {
        return stages.find(ID);
    }

    /** An executor arrived, and the stage runs again. */
    void goesOn() {
        stages.update(ID, StageChanges.resuming());
        stages.update(ID, StageChanges.resumed(stage().enterCommand(), "the agent's memory", 2_000_000));
    }

    /** For another preemptor. */
    void suspendAgain() {
        stages.update(ID, StageChanges.chosen());
        stages.update(
                ID,
                StageChanges.frozen(
                        new StageChanges.Suspended(null, null, "Because.", 3_000_000),
                        false,
                        Secret.fromString("a key")));
    }

    /** The same as steps that begin now, and ask the agent first; those that are there are over. */
    SealingSteps later() {
        return new SealingSteps(live, stage().suspensions(), true, stages, (node, id) -> this, this, StageClock.SYSTEM);
    }

    /** Its agent was lost, and it went back to its checkpoint. */
    void rolledBack() {
        stages.rollBack(ID);
    }

    @Override
    public boolean isAwaited(StageRecord stage) {
        return awaited;
    }

    private void effect(String what) {
        String state = stage().state() != StageState.SUSPENDED
                ? stage().state().name()
                : stage().frozen() ? "FROZEN" : "IMAGE";
        effects.add(state + " " + what);
    }

    @Override
    public Luggage packLuggage(StageRecord stage) {
        packing.add("begun");
        return new Luggage() {
            @Override
            public SealedLuggage store() throws IOException {
                onLuggage.run();
                packing.add("stored");
                return luggage;
            }

            @Override
            public void close() {
                packing.add("over");
            }
        };
    }

    @Override
    public void dropLuggage(StageRecord stage, boolean taken) {
        packing.add(taken ? "dropped" : "removed");
    }

    /** A workspace of a host that is known by that token. */
    static SealedLuggage luggage(String token) {
        return StagesInMemory.luggage(token);
    }

    @Override
    public void close() {
        live.forget();
    }

    @Override
    public Awaited<AgentStage.Dump> dump(String key, boolean stayFrozen, boolean awaited) throws IOException {
        effect("dump with " + key + (stayFrozen ? "" : ", thaw"));
        packing.add("dump");
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
    public AgentStage.Held hold() {
        effect("hold");
        return held;
    }

    @Override
    public boolean isThere(String node) {
        return isThere;
    }

    @Override
    public Secret newKey() {
        return Secret.fromString("a new key");
    }

    @Override
    public long thawByMillis(StageRecord stage) {
        return thawByMillis;
    }

    @Override
    public Progress progress(StageRecord stage) {
        return () -> {};
    }

    @Override
    public String tooLarge(long bytes) {
        return tooLarge;
    }

    @Override
    public ArchiveRoom.Shortage shortage(long bytes) {
        return shortage;
    }

    @Override
    public void store(StageAgent agent, long bytes) throws IOException {
        effect("store");
        packing.add("image");
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
    public void say(String line) {
        log.add(line);
    }

    @Override
    public void say(String line, List<String> criuLines) {
        log.add(line);
    }

    @Override
    public void sayInMemoryOnly(String agent) {
        effect("memory only");
    }

    @Override
    public void showSealed(StageRecord stage) {
        effect("show");
    }

    @Override
    public void measured(String node, long bytes, long millis) {
        effect("measured");
    }

    @Override
    public void lost() throws IOException {
        effect("lost");
        onLost.run();
    }

    @Override
    public void kept(StageRecord stage) {
        effect("kept");
    }

    @Override
    public void tell(Consumer<StageListener> event) {
        event.accept(this);
    }

    @Override
    public void onSealed(StageSealed event) {
        effect("told sealed");
    }

    @Override
    public void onRefused(StageRefused event) {
        effect("told refused");
    }

    @Override
    public AgentStage.Freeze freeze(List<String> controlFolders, long memoryFloorBytes) {
        throw new AssertionError("the stage is frozen already");
    }

    @Override
    public void thaw() {
        throw new AssertionError("a failed image leaves the stage frozen");
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
    public AgentStage.Restore resumeHere(LastResort otherwise) {
        throw new AssertionError("no step of a sealing asks that");
    }

    @Override
    public AgentStage.Restore restore(String key) {
        throw new AssertionError("no step of a sealing asks that");
    }
}
