package io.jenkins.plugins.preemptible.engine.policy;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.policy.Snapshot.Agent;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.AgentState;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.BusyExecutor;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.RunningStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.SuspendedStage;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class PreemptionPolicyTest {

    private static final long NOW = 1_000_000;
    private static final Limits NO_SLICE = new Limits(true, 0, 0, 0);
    private static final Limits SLICE = new Limits(true, 60_000, 0, 0);

    private Limits limits = NO_SLICE;
    private final List<Agent> agents = new ArrayList<>();
    private final List<RunningStage> running = new ArrayList<>();
    private final List<SuspendedStage> suspended = new ArrayList<>();
    private final List<WaitingItem> waiting = new ArrayList<>();
    private final List<BusyExecutor> busy = new ArrayList<>();

    private void agent(String name, int idle) {
        agents.add(new Agent(name, idle, true));
    }

    private void runs(String id, String agent, int priority, long agoMillis) {
        running.add(new RunningStage(id, agent, priority, NOW - agoMillis, NOW - agoMillis, 0, 0, null, 0));
    }

    private void waits(String id, int priority, long agoMillis, String... fitting) {
        waiting.add(new WaitingItem(id, priority, NOW - agoMillis, Set.of(fitting), null));
    }

    private void isSuspended(String id, int priority, long agoMillis, String... fitting) {
        suspended.add(
                SuspendedStageFixture.of(id, priority, NOW - agoMillis, fitting).build());
    }

    private void decides(Action... expected) {
        assertEquals(
                Arrays.asList(expected),
                PreemptionPolicy.decide(
                        new Snapshot(NOW, limits, agents, running, suspended, waiting, Map.of(), true, busy)));
    }

    private static Action suspend(String stage, String item, String agent, Reason reason) {
        return reason == Reason.TIME_SLICE_USED_UP
                ? new Action.EndSlice(stage, item, agent, reason)
                : new Action.Suspend(stage, item, agent, reason);
    }

    private static Action keep(String id, Reason reason) {
        return new Action.Wait(id, reason);
    }

    private static Action resume(String stage, String agent) {
        return new Action.Resume(stage, agent, Reason.EXECUTOR_IDLE);
    }

    @Test
    void anItemOfHigherPriorityTakesTheStageOfLowestPriority() {
        agent("a", 0);
        runs("middle", "a", 5, 500);
        runs("worst", "a", 9, 500);
        waits("item", 1, 10, "a");
        decides(suspend("worst", "item", "a", Reason.HIGHER_PRIORITY_WAITS));
    }

    private void isSuspendedAndMayMove(String id, int priority, String own, String... elsewhere) {
        suspended.add(SuspendedStageFixture.of(id, priority, NOW - 10, own)
                .mayMoveTo(elsewhere)
                .build());
    }

    private static Action move(String stage, String agent) {
        return new Action.Resume(stage, agent, Reason.IDLE_ELSEWHERE);
    }

    @Test
    void aStageWhoseAgentIsBusyGoesToAnotherOne() {
        agent("a", 0);
        agent("b", 1);
        isSuspendedAndMayMove("stage", 5, "a", "b");
        decides(move("stage", "b"));
    }

    @Test
    void itsOwnAgentIsPreferred() {
        agent("a", 1);
        agent("b", 1);
        isSuspendedAndMayMove("stage", 5, "a", "b");
        decides(resume("stage", "a"));
    }

    @Test
    void anItemThatCanRunNowhereElseGetsTheExecutorFirst() {
        agent("a", 0);
        agent("b", 1);
        isSuspendedAndMayMove("stage", 5, "a", "b");
        waits("worse", 9, 5, "b");
        decides(keep("stage", Reason.NO_IDLE_EXECUTOR), keep("worse", Reason.EXECUTOR_FREE_ALREADY));
    }

    @Test
    void nobodyGivesWayOnAnotherAgent() {
        agent("a", 0);
        agent("b", 0);
        runs("low", "b", 9, 1000);
        isSuspendedAndMayMove("stage", 1, "a", "b");
        decides(keep("stage", Reason.NO_IDLE_EXECUTOR));
    }

    private void mayMoveIn(String id, long millis) {
        suspended.add(SuspendedStageFixture.of(id, 5, NOW - 10, "a")
                .mayMoveTo("b", "c")
                .movingTakes(millis)
                .build());
    }

    private void endsIn(String id, long millis) {
        running.add(new RunningStage(
                id, "a", 1, "", NOW - 500, NOW - 500, 0, 0, null, 0, -1, 0, NOW + millis, false, false));
    }

    @Test
    void aStageStaysWhereItsAgentIsFreeBeforeItHadMoved() {
        agent("a", 0);
        agent("b", 1);
        agent("c", 1);
        endsIn("soon", 3000);
        mayMoveIn("stage", 4000);
        decides(keep("stage", Reason.OWN_AGENT_FREE_SOON));
        suspended.clear();
        mayMoveIn("quicker", 2000);
        decides(move("quicker", "b"));
    }

    /** Of two that could move one has the executor that is free soon, and the other one moves. */
    @Test
    void anExecutorThatIsFreeSoonIsForOne() {
        agent("a", 0);
        agent("b", 1);
        agent("c", 1);
        endsIn("soon", 3000);
        mayMoveIn("one", 4000);
        mayMoveIn("other", 4000);
        decides(keep("one", Reason.OWN_AGENT_FREE_SOON), move("other", "b"));
    }

    private void buildEndsIn(String agent, long millis) {
        busy.add(new BusyExecutor(agent, NOW + millis));
    }

    @Test
    void aStageWaitsForABuildThatEndsBeforeItHadMoved() {
        agent("a", 0);
        agent("b", 1);
        buildEndsIn("a", 3000);
        mayMoveIn("stage", 4000);
        decides(keep("stage", Reason.OWN_AGENT_FREE_SOON));
        suspended.clear();
        mayMoveIn("quicker", 2000);
        decides(move("quicker", "b"));
    }

    @Test
    void aBuildOnAnotherAgentThatIsOverdueOrUnknownKeepsNobody() {
        agent("a", 0);
        agent("b", 1);
        buildEndsIn("a", 0);
        buildEndsIn("a", -NOW);
        buildEndsIn("c", 3000);
        mayMoveIn("stage", 4000);
        decides(move("stage", "b"));
    }

    /** The executor that ends first is the better stage's, be that of a stage or of a build. */
    @Test
    void endsOfBuildsAndStagesAreOneRow() {
        agent("a", 0);
        agent("b", 1);
        buildEndsIn("a", 3500);
        endsIn("soon", 3000);
        mayMoveIn("one", 3000);
        mayMoveIn("other", 3500);
        decides(keep("one", Reason.OWN_AGENT_FREE_SOON), keep("other", Reason.OWN_AGENT_FREE_SOON));
        suspended.remove(1);
        mayMoveIn("quick", 3400);
        decides(keep("one", Reason.OWN_AGENT_FREE_SOON), move("quick", "b"));
    }

    /** Jenkins gives it the executor before the stage can be resumed, of whatever priority it is. */
    @Test
    void anExecutorThatIsFreeSoonGoesToTheQueueFirst() {
        agent("a", 0);
        agent("b", 1);
        buildEndsIn("a", 3000);
        mayMoveIn("stage", 4000);
        waits("worse", 9, 5, "a");
        decides(move("stage", "b"), keep("worse", Reason.NO_FITTING_STAGE));
        buildEndsIn("a", 4000);
        decides(keep("stage", Reason.OWN_AGENT_FREE_SOON), keep("worse", Reason.NO_FITTING_STAGE));
    }

    /** Its stage is being suspended and does not run any more; what ends beside is free for the suspended stage. */
    @Test
    void anExecutorThatIsFreedForAnItemIsNotFreeForTheStage() {
        agent("a", 0);
        agent("b", 1);
        mayMoveIn("stage", 4000);
        waiting.add(new WaitingItem("item", 1, NOW - 5, Set.of("a"), "a"));
        decides(keep("item", Reason.EXECUTOR_RESERVED), move("stage", "b"));
        buildEndsIn("a", 3000);
        decides(keep("item", Reason.EXECUTOR_RESERVED), keep("stage", Reason.OWN_AGENT_FREE_SOON));
    }

    @Test
    void aSnapshotSortsItsBusyExecutorsAndRefusesNegativeEnds() {
        BusyExecutor first = new BusyExecutor("a", 0);
        BusyExecutor second = new BusyExecutor("a", 7);
        BusyExecutor third = new BusyExecutor("b", 1);
        Snapshot snapshot = new Snapshot(
                NOW, limits, List.of(), List.of(), List.of(), List.of(), Map.of(), true, List.of(third, second, first));
        assertEquals(List.of(first, second, third), snapshot.busy());
        assertThrows(IllegalArgumentException.class, () -> new BusyExecutor("a", -1));
    }

    @Test
    void aStageThatHasRunLongerThanExpectedKeepsNobody() {
        agent("a", 0);
        agent("b", 1);
        endsIn("overdue", -1);
        mayMoveIn("stage", 4000);
        decides(move("stage", "b"));
    }

    @Test
    void ofTwoStagesTheBetterOneMoves() {
        agent("a", 0);
        agent("b", 1);
        isSuspendedAndMayMove("worse", 6, "a", "b");
        isSuspendedAndMayMove("better", 5, "a", "b");
        decides(move("better", "b"), keep("worse", Reason.NO_IDLE_EXECUTOR));
    }

    @Test
    void aStageThatIsNowhereAtHomeMayStillMove() {
        agent("b", 1);
        suspended.add(SuspendedStageFixture.of("stage", 5, NOW).mayMoveTo("b").build());
        decides(move("stage", "b"));
    }

    @Test
    void amongTheWorstTheOneThatStartedLastIsTaken() {
        agent("a", 0);
        runs("older", "a", 9, 900);
        runs("younger", "a", 9, 100);
        waits("item", 1, 10, "a");
        decides(suspend("younger", "item", "a", Reason.HIGHER_PRIORITY_WAITS));
    }

    @Test
    void noStageIsTakenForAnItemOfEqualOrLowerPriorityWithoutSlices() {
        agent("a", 0);
        runs("stage", "a", 5, 1_000_000);
        waits("equal", 5, 10, "a");
        waits("worse", 6, 10, "a");
        decides(keep("equal", Reason.NO_LOWER_PRIORITY), keep("worse", Reason.NO_LOWER_PRIORITY));
    }

    @Test
    void anEqualItemTakesAStageOnlyWhenItsSliceIsUsedUp() {
        limits = SLICE;
        agent("a", 0);
        runs("stage", "a", 5, 59_999);
        waits("item", 5, 10, "a");
        decides(keep("item", Reason.TIME_SLICE_NOT_USED_UP));
        running.clear();
        runs("stage", "a", 5, 60_000);
        decides(suspend("stage", "item", "a", Reason.TIME_SLICE_USED_UP));
    }

    @Test
    void aStagesOwnSliceGoesBeforeTheDefault() {
        limits = SLICE;
        agent("a", 0);
        running.add(new RunningStage("stage", "a", 5, NOW - 20_000, NOW - 20_000, 0, 10_000, null, 0));
        waits("item", 5, 10, "a");
        decides(suspend("stage", "item", "a", Reason.TIME_SLICE_USED_UP));
    }

    @Test
    void withoutRoomForImagesOnlyWhatMayStayInMemoryIsSuspended() {
        limits = NO_SLICE.withMemory(0, 1_000);
        for (long free : new long[] {-1, 999, 1_000}) {
            Agent agent = new Agent("a", Set.of(), 0, true, AgentState.THERE, free, 0, 0, 0);
            RunningStage stage = new RunningStage("stage", "a", 5, NOW - 500, NOW - 500, 0, 0, null, 0);
            WaitingItem item = new WaitingItem("item", 1, NOW - 10, Set.of("a"), null);
            assertEquals(
                    List.of(
                            free == 999
                                    ? keep("item", Reason.NO_ROOM_FOR_IMAGE)
                                    : suspend("stage", "item", "a", Reason.HIGHER_PRIORITY_WAITS)),
                    PreemptionPolicy.decide(new Snapshot(
                            NOW,
                            limits,
                            List.of(agent),
                            List.of(stage),
                            List.of(),
                            List.of(item),
                            Map.of(),
                            false,
                            List.of())),
                    () -> free + " bytes are free");
        }
    }

    @Test
    void anIdleExecutorServesTheItem() {
        agent("a", 0);
        agent("b", 1);
        runs("stage", "a", 9, 500);
        waits("item", 1, 10, "a", "b");
        decides(keep("item", Reason.EXECUTOR_FREE_ALREADY));
    }

    @Test
    void anIdleExecutorIsGivenToTheItemThatHasNoOther() {
        agent("a", 1);
        agent("b", 1);
        runs("stage", "a", 9, 500);
        waits("flexible", 1, 10, "a", "b");
        waits("fixed", 2, 10, "a");
        decides(keep("flexible", Reason.EXECUTOR_FREE_ALREADY), keep("fixed", Reason.EXECUTOR_FREE_ALREADY));
    }

    @Test
    void oneVictimAnItemAndTheBestItemFirst() {
        agent("a", 0);
        runs("one", "a", 9, 500);
        waits("second", 2, 100, "a");
        waits("first", 1, 10, "a");
        decides(suspend("one", "first", "a", Reason.HIGHER_PRIORITY_WAITS), keep("second", Reason.VICTIM_TAKEN));
    }

    @Test
    void anExecutorThatWasFreedForAnItemIsKeptForIt() {
        agent("a", 1);
        runs("stage", "a", 9, 500);
        waiting.add(new WaitingItem("mine", 3, NOW, Set.of("a"), "a"));
        isSuspended("sleeper", 5, 100, "a");
        decides(keep("mine", Reason.EXECUTOR_RESERVED), suspend("stage", "sleeper", "a", Reason.HIGHER_PRIORITY_WAITS));
        running.clear();
        decides(keep("mine", Reason.EXECUTOR_RESERVED), keep("sleeper", Reason.BETTER_ITEM_WAITS));
    }

    @Test
    void aReservationOnAnAgentThatWentAwayIsVoid() {
        agents.add(new Agent("a", 0, false));
        agent("b", 0);
        runs("stage", "b", 9, 500);
        waiting.add(new WaitingItem("item", 1, NOW, Set.of("a", "b"), "a"));
        decides(suspend("stage", "item", "b", Reason.HIGHER_PRIORITY_WAITS));
    }

    @Test
    void aStageInItsExemptTimeIsLeftAlone() {
        limits = new Limits(true, 0, 60_000, 0);
        agent("a", 0);
        runs("stage", "a", 9, 59_999);
        waits("item", 1, 10, "a");
        decides(keep("item", Reason.EXEMPT_TIME));
    }

    @Test
    void aStageThatWasSuspendedOftenEnoughIsLeftAlone() {
        limits = new Limits(true, 0, 0, 2);
        agent("a", 0);
        running.add(new RunningStage("stage", "a", 9, 0, 0, 2, 0, null, 0));
        waits("item", 1, 10, "a");
        decides(keep("item", Reason.MOST_SUSPENSIONS_REACHED));
    }

    @Test
    void aStageThatCannotBeCheckpointedIsLeftAlone() {
        agent("a", 0);
        running.add(new RunningStage("stage", "a", 9, 0, 0, 0, 0, "it is traced", 0));
        waits("item", 1, 10, "a");
        decides(keep("item", Reason.NOT_CHECKPOINTABLE));
    }

    /** Its executor would never be free: no dump is made there that would free the memory. */
    @Test
    void aStageThatWouldStayInScarceMemoryIsLeftAlone() {
        limits = NO_SLICE.withMemory(0, 1000);
        inMemoryOnly(AgentState.THERE, 999);
        runs("stage", "a", 9, 500);
        waits("item", 1, 10, "a");
        decides(keep("item", Reason.MEMORY_SHORT));
        inMemoryOnly(AgentState.DRAINED, 999);
        waiting.clear();
        decides();
        inMemoryOnly(AgentState.DRAINED, 1000);
        decides(new Action.Suspend("stage", null, "a", Reason.AGENT_IS_DRAINED));
        for (long enough : new long[] {1000, -1}) {
            inMemoryOnly(AgentState.THERE, enough);
            waiting.clear();
            waits("item", 1, 10, "a");
            decides(suspend("stage", "item", "a", Reason.HIGHER_PRIORITY_WAITS));
        }
    }

    /** The limit is for images. */
    @Test
    void whereNoImagesAreMadeTheirLimitDoesNotCount() {
        limits = NO_SLICE.withMemory(1000, 0);
        inMemoryOnly(AgentState.THERE, -1);
        running.add(new RunningStage("stage", "a", 9, "", 0, 0, 0, 0, null, 0, 1001, 0, 0, false, false));
        waits("item", 1, 10, "a");
        decides(suspend("stage", "item", "a", Reason.HIGHER_PRIORITY_WAITS));
    }

    private void inMemoryOnly(AgentState state, long freeBytes) {
        agents.clear();
        agents.add(new Agent("a", Set.of(), 0, true, state, freeBytes, 0, 0, 0, true));
    }

    @Test
    void afterAFailedDumpAStageIsLeftAloneForAWhile() {
        agent("a", 0);
        running.add(new RunningStage("stage", "a", 9, 0, 0, 0, 0, null, NOW + 1));
        waits("item", 1, 10, "a");
        decides(keep("item", Reason.SUSPEND_FAILED_LATELY));
    }

    @Test
    void aStageInWhichAnotherStepRunsIsLeftAloneForThat() {
        agent("a", 0);
        running.add(new RunningStage(
                "stage", "a", 9, "", 0, 0, 0, 0, null, NOW + 1, -1, 0, 0, false, false, false, 0, true));
        waits("item", 1, 10, "a");
        decides(keep("item", Reason.OTHER_STEP_RUNS));
    }

    /** As a manual move, or a stage of a drained agent. */
    @Test
    void aStageThatCanGoNowhereIsToldWhy() {
        agent("b", 0);
        agents.add(new Agent("drained", Set.of(), 1, true, AgentState.DRAINED, -1, 0, 0, 0));
        suspended.add(SuspendedStageFixture.of("moved", 5, 10)
                .nowhere(Reason.IMAGE_NOT_SEALED)
                .build());
        suspended.add(SuspendedStageFixture.of("stays", 6, 10, "drained")
                .nowhere(Reason.NO_IDLE_EXECUTOR)
                .build());
        isSuspended("unknown", 7, 100, "drained");
        suspended.add(SuspendedStageFixture.of("waits", 8, 10, "b")
                .nowhere(Reason.IMAGE_NOT_SEALED)
                .build());
        decides(
                keep("moved", Reason.IMAGE_NOT_SEALED),
                keep("stays", Reason.NO_IDLE_EXECUTOR),
                keep("unknown", Reason.AGENT_NOT_ACCEPTING),
                keep("waits", Reason.NO_IDLE_EXECUTOR));
    }

    @Test
    void aStageWhoseOtherAgentWentToABetterClaimIsToldThat() {
        agent("b", 1);
        waits("item", 1, 10, "b");
        suspended.add(SuspendedStageFixture.of("moved", 5, 10).mayMoveTo("b").build());
        decides(keep("item", Reason.EXECUTOR_FREE_ALREADY), keep("moved", Reason.BETTER_ITEM_WAITS));
    }

    @Test
    void nothingIsSuspendedWhenSwitchedOffButSuspendedStagesGoOn() {
        limits = new Limits(false, 60_000, 0, 0);
        agent("a", 0);
        agent("b", 1);
        runs("stage", "a", 9, 500_000);
        waits("item", 1, 10, "a");
        isSuspended("sleeper", 5, 100, "b");
        decides(keep("item", Reason.SWITCHED_OFF), resume("sleeper", "b"));
    }

    @Test
    void nothingIsSuspendedWhileJenkinsPreparesToShutDownButStagesAreQueuedToGoOn() {
        agents.add(new Agent("a", Set.of(), 0, true, AgentState.QUIETING_DOWN, -1, 0, 0, 0));
        agents.add(new Agent("b", Set.of(), 1, true, AgentState.QUIETING_DOWN, -1, 0, 0, 0));
        runs("stage", "a", 9, 500_000);
        waits("item", 1, 10, "a");
        isSuspended("sleeper", 5, 100, "b");
        decides(keep("item", Reason.QUIETING_DOWN), resume("sleeper", "b"));
    }

    @Test
    void nothingIsSuspendedWhereTheItemDoesNotFitOrNoAgentAccepts() {
        agent("a", 0);
        agents.add(new Agent("off", 0, false));
        runs("stage", "a", 9, 500);
        runs("other", "off", 9, 500);
        waits("elsewhere", 1, 20, "b");
        waits("offline", 1, 10, "off");
        decides(keep("elsewhere", Reason.AGENT_NOT_ACCEPTING), keep("offline", Reason.AGENT_NOT_ACCEPTING));
        agent("b", 0);
        waiting.clear();
        waits("elsewhere", 1, 20, "b");
        decides(keep("elsewhere", Reason.NO_FITTING_STAGE));
    }

    @Test
    void aSuspendedStageGoesOnWhenItsExecutorIsIdle() {
        agent("a", 1);
        isSuspended("stage", 5, 100, "a");
        decides(resume("stage", "a"));
    }

    @Test
    void aSuspendedStageThatIsInTheQueueAlreadyKeepsItsExecutor() {
        agent("a", 1);
        suspended.add(SuspendedStageFixture.of("asked", 5, NOW - 10, "a")
                .requestedAfter("item")
                .build());
        isSuspended("later", 5, 5, "a");
        decides(keep("asked", Reason.RESTORE_REQUESTED_ALREADY), keep("later", Reason.BETTER_ITEM_WAITS));
    }

    @Test
    void aBetterItemGoesBeforeASuspendedStageAndAWorseOneAfterIt() {
        agent("a", 1);
        isSuspended("stage", 5, 100, "a");
        waits("better", 4, 1, "a");
        waits("worse", 6, 1_000, "a");
        decides(
                keep("better", Reason.EXECUTOR_FREE_ALREADY),
                keep("stage", Reason.BETTER_ITEM_WAITS),
                keep("worse", Reason.NO_FITTING_STAGE));
    }

    @Test
    void anEqualItemGoesFirstOnlyWhenItWaitsLonger() {
        agent("a", 1);
        isSuspended("stage", 5, 100, "a");
        waits("longer", 5, 101, "a");
        decides(keep("longer", Reason.EXECUTOR_FREE_ALREADY), keep("stage", Reason.BETTER_ITEM_WAITS));
        waiting.clear();
        waits("same", 5, 100, "a");
        decides(resume("stage", "a"), keep("same", Reason.NO_FITTING_STAGE));
    }

    @Test
    void twoEqualStagesTakeTurnsOnOneExecutor() {
        limits = SLICE;
        agent("a", 0);
        runs("second", "a", 5, 60_000);
        isSuspended("first", 5, 60_000, "a");
        decides(suspend("second", "first", "a", Reason.TIME_SLICE_USED_UP));
        running.clear();
        agents.clear();
        agent("a", 1);
        isSuspended("second", 5, 0, "a");
        decides(resume("first", "a"), keep("second", Reason.BETTER_ITEM_WAITS));
    }

    @Test
    void whatWasFreedForASuspendedStageIsGivenToIt() {
        agent("a", 1);
        suspended.add(SuspendedStageFixture.of("stage", 5, NOW - 10, "a")
                .reservedOn("a")
                .build());
        waits("better", 1, 10, "a");
        decides(keep("better", Reason.NO_FITTING_STAGE), resume("stage", "a"));
    }

    @ParameterizedTest
    @EnumSource(Reason.class)
    void everyReasonIsOneSentence(Reason reason) {
        String sentence = reason.sentence();
        assertTrue(sentence.matches("[A-Z][^.]+\\."), sentence);
    }

    @Test
    void aSnapshotThatNamesAStageTwiceIsRefused() {
        runs("stage", "a", 5, 1);
        runs("stage", "b", 5, 1);
        assertThrows(
                IllegalArgumentException.class, () -> new Snapshot(NOW, limits, agents, running, suspended, waiting));
    }

    @Test
    void aNegativeLimitIsRefusedByName() {
        String message = assertThrows(IllegalArgumentException.class, () -> new Limits(true, -1, 0, 0))
                .getMessage();
        assertTrue(message.contains("time slice") && message.contains("-1"), message);
    }

    private void freezeOnly(int percent) {
        limits = NO_SLICE.withUndumpable(UndumpableStages.FREEZE_ONLY).withFreezeOnly(new FreezeOnly(600_000, percent));
        agents.add(new Agent("a", Set.of(), 0, true, AgentState.THERE, -1, 0, 0, 0, false, 1000, 100));
    }

    private void traced(String id, int priority, long bytes, boolean freezable, long lastFrozenMillis) {
        running.add(new RunningStage(
                id,
                "a",
                priority,
                "",
                0,
                NOW - 50,
                0,
                0,
                "traced",
                0,
                bytes,
                0,
                0,
                false,
                false,
                freezable,
                lastFrozenMillis));
    }

    @Test
    void whatCannotBeDumpedIsFrozenLastAndForNoLongerThanItMay() {
        freezeOnly(50);
        traced("traced", 9, 400, true, 0);
        runs("other", "a", 8, 500);
        waits("item", 1, 10, "a");
        decides(suspend("other", "item", "a", Reason.HIGHER_PRIORITY_WAITS));
        running.remove(1);
        decides(new Action.Suspend("traced", "item", "a", 0, Reason.HIGHER_PRIORITY_WAITS, true));
        waiting.set(0, new WaitingItem("item", 1, "", NOW, Set.of("a"), null, 480_001));
        decides(keep("item", Reason.FROZEN_TIME_TOO_SHORT));
        waiting.set(0, new WaitingItem("item", 9, "", NOW, Set.of("a"), null, 0));
        limits = limits.withSlices(new Slices(1, List.of()));
        decides(keep("item", Reason.NOT_CHECKPOINTABLE));
    }

    @Test
    void whatCannotBeDumpedIsLeftAloneWhereItMayNotBeFrozen() {
        waits("item", 1, 10, "a");
        freezeOnly(50);
        traced("traced", 9, 401, true, 0);
        decides(keep("item", Reason.FROZEN_SHARE_REACHED));
        running.clear();
        traced("traced", 9, -1, true, 0);
        decides(keep("item", Reason.FROZEN_SHARE_REACHED));
        running.clear();
        traced("traced", 9, 400, false, 0);
        decides(keep("item", Reason.NOT_CHECKPOINTABLE));
        running.clear();
        traced("traced", 9, 400, true, 51);
        decides(keep("item", Reason.FROZEN_LATELY));
        running.clear();
        traced("traced", 9, 400, true, 50);
        decides(new Action.Suspend("traced", "item", "a", 0, Reason.HIGHER_PRIORITY_WAITS, true));
    }

    private void isFrozen(int priority, boolean byHand, long leftMillis) {
        suspended.clear();
        suspended.add(SuspendedStageFixture.of("frozen", priority, NOW - 10, "a")
                .byHand(byHand)
                .thawBy(NOW + leftMillis)
                .build());
    }

    @Test
    void aFrozenStageGetsItsExecutorBackBeforeItsTimeIsUp() {
        freezeOnly(50);
        runs("preemptor", "a", 1, 500);
        isFrozen(9, false, 120_001);
        decides(new Action.Reserve("frozen", "a", Reason.FROZEN_GOES_NEXT));
        isFrozen(9, false, 120_000);
        decides(suspend("preemptor", "frozen", "a", Reason.FROZEN_TIME_ENDS));
        limits = new Limits(true, 0, 60_000, 0)
                .withUndumpable(UndumpableStages.FREEZE_ONLY)
                .withFreezeOnly(limits.freezeOnly());
        decides(suspend("preemptor", "frozen", "a", Reason.FROZEN_TIME_ENDS));
        running.clear();
        waits("item", 1, 10, "a");
        decides(new Action.Reserve("frozen", "a", Reason.FROZEN_TIME_ENDS), keep("item", Reason.NO_FITTING_STAGE));
    }

    private void frozenBeside(int priority, long expectedMillis) {
        waiting.clear();
        waiting.add(new WaitingItem("item", priority, "", 10, Set.of("a"), null, expectedMillis));
    }

    @Test
    void theNextExecutorIsForAFrozenStageUnlessABetterItemEndsInTime() {
        freezeOnly(50);
        isFrozen(5, false, 300_000);
        for (int priority : new int[] {5, 9}) {
            frozenBeside(priority, 0);
            decides(new Action.Reserve("frozen", "a", Reason.FROZEN_GOES_NEXT), keep("item", Reason.NO_FITTING_STAGE));
        }
        for (long expected : new long[] {0, 180_000}) {
            frozenBeside(1, expected);
            decides(keep("item", Reason.NO_FITTING_STAGE), keep("frozen", Reason.NO_IDLE_EXECUTOR));
        }
        frozenBeside(1, 180_001);
        decides(new Action.Reserve("frozen", "a", Reason.FROZEN_GOES_NEXT), keep("item", Reason.NO_FITTING_STAGE));
    }

    @Test
    void notEvenOnRequestDoesOneStayFrozenForLonger() {
        freezeOnly(50);
        isFrozen(9, true, 120_001);
        decides(keep("frozen", Reason.SUSPENDED_BY_HAND));
        isFrozen(9, true, 120_000);
        decides(new Action.Reserve("frozen", "a", Reason.FROZEN_TIME_ENDS));
        agents.set(0, new Agent("a", Set.of(), 1, true, AgentState.DRAINED, -1, 0, 0, 0));
        decides(resume("frozen", "a"));
    }
}
