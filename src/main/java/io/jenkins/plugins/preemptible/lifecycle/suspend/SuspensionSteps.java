package io.jenkins.plugins.preemptible.lifecycle.suspend;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LuggageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageClock;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageContainers;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageStore;
import io.jenkins.plugins.preemptible.view.LoggedName;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.ToLongFunction;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The steps of one attempt at a suspension, see {@link Suspension}. Everything is given: the tests need no Jenkins.
 *
 * <p>Used once, by one thread, which holds the stage's {@code operation} lock.
 */
final class SuspensionSteps {

    private static final Logger LOGGER = Logger.getLogger(Suspension.class.getName());

    /** Between two `sh` steps, or beside a checkout: worth another look soon, and worth a line in the log only if it stays. */
    static final long BUSY_RETRY_MILLIS = TimeUnit.SECONDS.toMillis(1);

    private static final Set<String> JUST_BUSY =
            Set.of(FailureReason.OBJECTION.name(), FailureReason.STAGE_BUSY.name(), FailureReason.ENTERING.name());

    /** What an attempt works with. @param memoryFloorBytes see {@link StageAgent#freeze} */
    record Given(
            StageStore stages,
            StageBuild build,
            StageImage image,
            StageExecutor.Finder executors,
            FrozenStage frozen,
            StageClock clock,
            long memoryFloorBytes,
            FrozenOnlyRoom frozenOnly) {

        /** Where what cannot be dumped is refused. */
        Given(
                StageStore stages,
                StageBuild build,
                StageImage image,
                StageExecutor.Finder executors,
                FrozenStage frozen,
                StageClock clock,
                long memoryFloorBytes) {
            this(stages, build, image, executors, frozen, clock, memoryFloorBytes, new FrozenOnlyRoom(stage -> 0, 0));
        }
    }

    /**
     * What may be frozen that cannot be dumped.
     *
     * @param bytes with how much memory at most a stage may be
     * @param longestMillis for how long
     */
    record FrozenOnlyRoom(ToLongFunction<StageRecord> bytes, long longestMillis) {}

    private final LiveStage live;
    private final Suspension.Request request;
    private final StageStore stages;
    private final StageBuild build;
    private final StageImage image;
    private final Given given;
    private SuspensionWords words;
    private StageExecutor executor;
    private StageAgent agent;
    private int launchesBefore;
    private AgentStage.Freeze frozen;

    /** From the request until the executor was free; -1 before. */
    private long tookMillis = -1;

    SuspensionSteps(LiveStage live, Suspension.Request request, Given given) {
        this.live = live;
        this.request = request;
        this.given = given;
        this.stages = given.stages();
        this.build = given.build();
        this.image = given.image();
    }

    /** A connection or a lock that is there now may be gone by then. */
    static long passingRetryMillis() {
        return Long.getLong(
                "io.jenkins.plugins.preemptible.lifecycle.Suspension.passingRetryMillis",
                TimeUnit.SECONDS.toMillis(30));
    }

    /** @return how many milliseconds after the request the executor was given away; empty when it was not */
    OptionalLong run() throws IOException, InterruptedException {
        if (!suspend()) {
            return OptionalLong.empty();
        }
        live.objection().suspended();
        return OptionalLong.of(tookMillis);
    }

    private boolean suspend() throws IOException, InterruptedException {
        StageRecord stage = stages.find(live.id());
        if (stage == null || stage.state() != StageState.RUNNING || live.ending() || !stage.hasSandbox()) {
            return false;
        }
        String reason = request.reason().sentence();
        words = new SuspensionWords(
                LoggedName.ofPreemptor(request.preemptor(), request.preemptorJob(), stage.job(), reason));
        if (live.sealing()) {
            // The attempt at an image of its last suspension has not come to its end yet.
            live.retryAfter(BUSY_RETRY_MILLIS);
            if (request.preemptor() == null && live.tellWaiting()) {
                build.say(SuspensionWords.waitsForLastImage());
            }
            return false;
        }
        launchesBefore = live.launches();
        String objection = build.objection();
        executor = given.executors().of(stage);
        if (objection != null || executor == null) {
            live.retryAfter(BUSY_RETRY_MILLIS);
            if (objection != null && live.objection().found(objection)) {
                build.say(words.notYet(objection));
            }
            return false;
        }
        live.objection().over();
        live.notRefused();
        try {
            agent = executor.agent();
        } catch (IOException x) {
            live.retryAfter(passingRetryMillis());
            throw x;
        }
        // From now on a step that is launched waits; the record has those that were launched before.
        StageRecord chosen = stages.update(stage.id(), StageChanges.chosen());
        build.say(words.begins(reason));
        try {
            return freeze(chosen == null ? stage : chosen);
        } catch (Exception | LinkageError x) {
            StageRecord now = stages.find(stage.id());
            if (now == null || now.state() != StageState.SUSPENDING) {
                throw x;
            }
            LOGGER.log(Level.WARNING, x, () -> "cannot suspend " + stage);
            if (x instanceof IOException) {
                // The connection was lost, or the agent did not answer: nothing is known against the stage.
                giveBack(SuspensionWords.agentNotAsked(x.getMessage()), passingRetryMillis());
                return false;
            }
            // A record that could not be saved says nothing against the stage either.
            giveBack(
                    SuspensionWords.failed(x),
                    x instanceof UncheckedIOException ? passingRetryMillis() : LiveStage.REFUSED_RETRY_MILLIS);
            return false;
        }
    }

    private boolean freeze(StageRecord stage) throws IOException, InterruptedException {
        StageContainers containers = stage.containers();
        if (containers != null) {
            agent.tellContainers(containers.all(), StageContainers.marks(stage));
        }
        frozen = agent.freeze(
                stage.controlFolders(),
                given.memoryFloorBytes(),
                given.frozenOnly().bytes().applyAsLong(stage));
        if (frozen.refusal() != null) {
            if (stage.tie() == null) {
                // It may be one that can be frozen only, which nobody has noticed yet.
                build.lookAgain(stage);
            }
            return refused(stages.cutOff(live.id()), frozen.refusal());
        }
        live.memory().seen(given.clock().nowMillis(), frozen.residentBytes());
        // A step whose result was read before the freeze has ended by now, and its next one has no process yet.
        if (wentOn() || build.stepsChanged()) {
            return giveBack(SuspensionWords.wentOn(), BUSY_RETRY_MILLIS);
        }
        if (!request.stillWanted().getAsBoolean()) {
            return giveBack(words.notWanted(), 0);
        }
        if (frozen.memoryOnly()) {
            return handOver(stage, null);
        }
        Secret key = image.newKey();
        if (frozen.handOver()) {
            return handOver(stage, key);
        }
        if (withoutRoom(0)) {
            return false;
        }
        build.say(frozen.handOverWhy() + ".");
        return dump(stage, key);
    }

    /**
     * Gives the executor away now; the image follows.
     *
     * @param key null when no image follows
     * @return whether that was done
     */
    private boolean handOver(StageRecord before, @CheckForNull Secret key) throws InterruptedException {
        boolean frozenOnly = !frozen.ties().isEmpty();
        long longestMillis = given.frozenOnly().longestMillis();
        StageRecord stage = stages.update(
                before.id(),
                (frozenOnly
                                ? StageChanges.frozenOnly(
                                        suspended(), given.clock().nowMillis() + longestMillis)
                                : StageChanges.frozen(suspended(), frozen.memoryOnly(), key))
                        .andThen(StageChanges.had(frozen.residentBytes())));
        if (stage == null || !release(stage)) {
            return false;
        }
        build.say(words.handedOver(
                executor.shown(), tookMillis, frozen, request.sealAfterMillis(), stage.thawByMillis()));
        build.showSuspended(stage);
        tell(stage);
        if (frozenOnly) {
            if (!before.tieTold()) {
                build.say(SuspensionWords.frozenOnly(executor.agentName(), frozen.ties(), longestMillis));
            }
        } else if (frozen.memoryOnly()) {
            build.sayInMemoryOnly(executor.agentName());
        } else {
            image.makeLater(stage, request.sealAfterMillis());
        }
        return true;
    }

    /** Makes the image first, since the agent has no memory for the preemptor beside the frozen stage. */
    private boolean dump(StageRecord stage, Secret key) throws IOException, InterruptedException {
        AgentStage.Dump dump;
        try (StageBuild.Progress progress = build.progress(stage)) {
            dump = agent.dump(key.getPlainText(), false, false).get();
        }
        if (dump.refusal() != null) {
            // The engine thaws the tree itself; whether that succeeded only the agent can tell.
            given.frozen().thawNowOrLater(live.id());
            return refused(stages.find(live.id()), dump.refusal());
        }
        String tooLarge = image.tooLarge(dump.archiveBytes());
        if (tooLarge != null) {
            return giveBack(SuspensionWords.tooLarge(tooLarge), LiveStage.REFUSED_RETRY_MILLIS);
        }
        if (withoutRoom(dump.archiveBytes())) {
            return false;
        }
        try {
            image.store(agent, dump.archiveBytes());
        } catch (IOException | RuntimeException x) {
            if (!request.stillWanted().getAsBoolean()) {
                // It was given up meanwhile, and took the image with it.
                return giveBack(words.notWanted(), 0);
            }
            LOGGER.log(Level.WARNING, x, () -> "cannot archive the image of " + stage);
            return giveBack(SuspensionWords.notArchived(image.why(x)), LiveStage.REFUSED_RETRY_MILLIS);
        }
        SealedLuggage luggage = image.storeLuggage(stage);
        if (wentOn()) {
            return giveBack(SuspensionWords.aborted(), BUSY_RETRY_MILLIS);
        }
        if (!request.stillWanted().getAsBoolean()) {
            return giveBack(words.notWanted(), 0);
        }
        return commit(stage, key, dump, luggage);
    }

    /** Thaws the stage, since its image has no room on the controller. @return whether that was done */
    private boolean withoutRoom(long imageBytes) throws IOException, InterruptedException {
        String shortage = image.shortage(imageBytes);
        if (shortage != null) {
            giveBack(SuspensionWords.withoutRoom(shortage), LiveStage.REFUSED_RETRY_MILLIS);
        }
        return shortage != null;
    }

    private boolean wentOn() {
        return live.launches() != launchesBefore || live.ending() || live.aborting();
    }

    /** @return whether the executor was given away */
    private boolean commit(StageRecord before, Secret key, AgentStage.Dump dump, @CheckForNull SealedLuggage luggage)
            throws InterruptedException {
        StageRecord stage = stages.update(
                before.id(),
                StageChanges.dumped(suspended(), key, dump.archiveBytes(), luggage)
                        .andThen(StageChanges.had(frozen.residentBytes())));
        if (stage == null) {
            return false;
        }
        AgentStage.NotKilled refusal = null;
        boolean answered = false;
        try {
            refusal = agent.commit();
            answered = refusal == null || refusal.tree() != AgentStage.NotKilled.Tree.BUSY;
            if (refusal == null && luggage != null) {
                stages.update(before.id(), LuggageChanges.treeEnded(true));
            }
        } catch (IOException | RuntimeException | LinkageError x) {
            // The image is safe and the tree is frozen: a resume finds what is left first.
            LOGGER.log(Level.WARNING, x, () -> "the frozen processes of " + stage + " could not be killed yet");
        }
        if (refusal != null && refusal.tree() == AgentStage.NotKilled.Tree.RUNS) {
            return runsAfterAll(refusal.why());
        }
        if (refusal != null && refusal.tree() == AgentStage.NotKilled.Tree.FROZEN) {
            return ofNoUse(stage, refusal.why());
        }
        if (!release(stage)) {
            return false;
        }
        build.measured(stage.node(), dump.imageBytes(), dump.dumpMillis() + dump.archiveMillis());
        build.say(words.sealed(executor.shown(), tookMillis, frozen, dump));
        build.showSuspended(stage);
        tell(stage);
        build.tell(SuspensionEvents.sealed(stage, dump));
        if (!answered) {
            // Its memory is what the agent is short of.
            image.findOut();
        }
        return true;
    }

    private void tell(StageRecord stage) {
        build.tell(
                SuspensionEvents.suspended(stage, request, frozen, given.clock().nowMillis(), tookMillis));
    }

    private StageChanges.Suspended suspended() {
        return new StageChanges.Suspended(
                request.preemptor(),
                request.preemptorJob(),
                request.reason().sentence(),
                given.clock().nowMillis());
    }

    /** @return false when Jenkins would not let go of the executor: then the stage is resumed */
    private boolean release(StageRecord stage) throws InterruptedException {
        request.beforeRelease().run();
        try {
            executor.release(stage);
            tookMillis = TimeUnit.NANOSECONDS.toMillis(given.clock().nanoTime() - request.requestedNanos());
            return true;
        } catch (IOException x) {
            LOGGER.log(Level.WARNING, x, () -> "cannot give the executor of " + stage + " away; it is resumed at once");
            executor.resumeOn(stage);
            return false;
        }
    }

    /** The image cannot serve any more, so the frozen tree is all there is. @return whether the executor was given away */
    private boolean ofNoUse(StageRecord stage, String why) throws InterruptedException {
        try {
            agent.thaw();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.WARNING, x, () -> stage + " is frozen, and is sealed again");
            image.discard();
            StageRecord held = stages.update(stage.id(), StageChanges.heldFrozen(image.newKey()));
            if (held == null || !release(held)) {
                return false;
            }
            build.showSuspended(held);
            tell(held);
            image.makeLater(held, 0);
            return true;
        }
        return runsAfterAll(why);
    }

    /** A process entered at the last moment, or the image could not serve any more: the tree runs, in place of being killed. */
    private boolean runsAfterAll(String refusal) throws InterruptedException {
        image.discard();
        stages.settle(live.id(), StageChanges.runsAfterAll());
        live.retryAfter(BUSY_RETRY_MILLIS);
        build.say(SuspensionWords.runsAfterAll(refusal));
        live.carryOutKill();
        return false;
    }

    private boolean refused(@CheckForNull StageRecord stage, AgentStage.Refusal refusal) {
        if (JUST_BUSY.contains(refusal.reason())) {
            live.retryAfter(BUSY_RETRY_MILLIS);
        } else {
            live.refused(refusal.sentence(), refusal.lasting() ? LiveStage.REFUSED_RETRY_MILLIS : passingRetryMillis());
            if (stage != null) {
                build.tell(
                        SuspensionEvents.refused(stage, refusal, given.clock().nowMillis()));
            }
        }
        build.say(words.refused(refusal.sentence()), refusal.criuLines());
        live.carryOutKill();
        return false;
    }

    private boolean giveBack(String why, long retryMillis) throws InterruptedException {
        // First: a disk that the image has filled needs the room before anything can be saved again.
        image.discard();
        live.retryAfter(retryMillis);
        build.say(why);
        given.frozen().thawNowOrLater(live.id());
        return false;
    }
}
