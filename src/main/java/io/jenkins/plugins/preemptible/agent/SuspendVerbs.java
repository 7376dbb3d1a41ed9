package io.jenkins.plugins.preemptible.agent;

import io.jenkins.plugins.preemptible.agent.AgentStage.Dump;
import io.jenkins.plugins.preemptible.agent.AgentStage.Freeze;
import io.jenkins.plugins.preemptible.agent.AgentStage.Held;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.Checkpoint;
import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.Frozen;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.SealRequest;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.host.HostMemory;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The verbs that stop a stage.
 *
 * <ol>
 *   <li>{@link Look} tells what would stop a dump; {@link FreezeStage} stops the stage where it is.
 *   <li>{@link DumpStage} writes its sealed image into the exchange folder; {@link Commit} and {@link Thaw} end it.
 *   <li>{@link Hold} makes true on the agent what the controller has saved, after either of them was away.
 * </ol>
 */
final class SuspendVerbs {

    private static final Logger LOG = Logger.getLogger(SuspendVerbs.class.getName());
    /** The image that waits for a commit cannot serve, or is not there. */
    private static final Set<FailureReason> OF_NO_USE =
            Set.of(FailureReason.NOT_RESTORABLE, FailureReason.IMAGE_MISSING, FailureReason.NO_CHECKPOINT);

    private SuspendVerbs() {}

    /** Answers why the stage can never be dumped as it is, and how much memory it and its host have. */
    static final class Look extends InEngine<AgentStage.Seen> {
        private static final long serialVersionUID = 1L;

        Look(String id) {
            super(id);
        }

        @Override
        AgentStage.Seen act(Engine engine, StageId stage, Path exchange) {
            long free = HostMemory.now().availableBytes();
            try {
                PreflightReport found = engine.preflight(stage);
                String leak = found.obstacles().stream()
                        .filter(obstacle -> !obstacle.reason().passing())
                        .findFirst()
                        .map(Look::sentence)
                        .orElse(null);
                long init = engine.status(stage).initPid();
                long resident = init == 0
                        ? -1
                        : Proc.tree(init).stream()
                                        .mapToLong(process -> Proc.residentBytes(process.pid()))
                                        .sum()
                                + engine.containedBytes(stage);
                String tie =
                        found.ties().stream().findFirst().map(Look::sentence).orElse(null);
                return new AgentStage.Seen(leak, resident, free, tie, HostMemory.totalBytes());
            } catch (EngineException x) {
                // It is being suspended, or has ended: there is nothing to look at.
                return new AgentStage.Seen(null, -1, free);
            }
        }

        private static String sentence(Obstacle leak) {
            return leak.sentence() + ". " + leak.reason().remedy() + ".";
        }
    }

    /** Freezes the stage, unless a step of it has just ended. */
    static final class FreezeStage extends InEngine<Freeze> {
        private static final long serialVersionUID = 1L;
        private final List<String> controlFolders;
        private final long memoryFloorBytes;
        private final long frozenOnlyBytes;

        FreezeStage(String id, List<String> controlFolders, long memoryFloorBytes, long frozenOnlyBytes) {
            super(id);
            this.controlFolders = List.copyOf(controlFolders);
            this.memoryFloorBytes = memoryFloorBytes;
            this.frozenOnlyBytes = frozenOnlyBytes;
        }

        @Override
        Freeze act(Engine engine, StageId stage, Path exchange) {
            Optional<String> starting =
                    engine.containersOf(stage).isEmpty() ? Optional.empty() : DurableTasks.startingOne(controlFolders);
            if (starting.isPresent()) {
                // What is on its way into a paused container is refused there.
                return refused(new SuspendFailedException(
                        FailureReason.OBJECTION, "a step of it is just starting in " + starting.get()));
            }
            DumpGuard guard = frozen -> DurableTasks.finishedOne(controlFolders)
                    .map(folder -> "a step of it has just ended, " + folder + " has its result");
            try {
                Frozen frozen =
                        engine.freeze(stage, new FreezeRequest(guard, memoryFloorBytes).orFrozenOnly(frozenOnlyBytes));
                return new Freeze(
                        null,
                        frozen.preflightMillis(),
                        frozen.freezeMillis(),
                        frozen.processes(),
                        frozen.residentBytes(),
                        frozen.handover() == Handover.AT_FREEZE,
                        frozen.handover().sentence(),
                        frozen.memoryOnly(),
                        frozen.ties());
            } catch (EngineException x) {
                return refused(x);
            }
        }

        private static Freeze refused(EngineException why) {
            return new Freeze(AgentStage.Refusal.of(why), 0, 0, 0, 0, false, null, false);
        }
    }

    /**
     * Dumps and seals a frozen stage. Where its processes were killed after that, and the answer did not arrive, the same is
     * answered again: the sealed image is all there is of the stage.
     */
    static final class DumpStage extends InEngine<Dump> {
        private static final long serialVersionUID = 1L;
        private final String key;
        private final boolean stayFrozen;
        private final boolean awaited;

        DumpStage(String id, String key, boolean stayFrozen, boolean awaited) {
            super(id);
            this.key = key;
            this.stayFrozen = stayFrozen;
            this.awaited = awaited;
        }

        @Override
        Dump act(Engine engine, StageId stage, Path exchange) throws IOException {
            Path archive;
            try {
                archive = PrivateFolder.make(exchange).resolve(AgentStage.IMAGE_FILE);
            } catch (IOException x) {
                if (!stayFrozen) {
                    engine.thaw(stage);
                }
                return refused(AgentStage.Refusal.of("The folder " + exchange + " cannot be made on the agent (" + x
                        + "). Free some space there, or make it writable for the agent's user."));
            }
            if (is(State.SUSPENDED, state(engine, stage))) {
                return isSealedInto(archive, engine, stage)
                        ? new Dump(null, 0, 0, 0, Files.size(archive), 0)
                        : refused(AgentStage.Refusal.of(
                                new SuspendFailedException(FailureReason.STAGE_SUSPENDED, stage.value())));
            }
            try {
                IfDumpFails ifFails = stayFrozen ? IfDumpFails.STAY_FROZEN : IfDumpFails.THAW;
                Checkpoint done = engine.dump(
                        stage,
                        archive,
                        ImageKey.parse(key),
                        SealRequest.full(ifFails).awaited(awaited));
                return new Dump(
                        null,
                        done.dumpMillis(),
                        done.archiveMillis(),
                        done.imageBytes(),
                        done.archiveBytes(),
                        done.processes());
            } catch (EngineException x) {
                if (!isAnotherStepsArchive(x.reason())) {
                    removeExchange(engine, exchange);
                }
                return refused(AgentStage.Refusal.of(x));
            }
        }

        private static boolean isAnotherStepsArchive(FailureReason reason) {
            return reason == FailureReason.STAGE_SUSPENDED || reason == FailureReason.STAGE_BUSY;
        }

        private static Dump refused(AgentStage.Refusal why) {
            return new Dump(why, 0, 0, 0, 0, 0);
        }
    }

    /** Answers why the frozen tree was not killed; null when no process of it is left. */
    static final class Commit extends InEngine<AgentStage.NotKilled> {
        private static final long serialVersionUID = 1L;

        Commit(String id) {
            super(id);
        }

        @Override
        AgentStage.NotKilled act(Engine engine, StageId stage, Path exchange) {
            AgentStage.NotKilled why = null;
            try {
                if (!is(State.SUSPENDED, state(engine, stage))) {
                    engine.commit(stage);
                }
            } catch (EngineException x) {
                why = notKilled(engine, stage, x);
            }
            if (why != null && why.tree() == AgentStage.NotKilled.Tree.BUSY) {
                return why;
            }
            try {
                removeExchange(engine, exchange);
            } catch (IOException x) {
                LOG.log(Level.WARNING, x, () -> exchange + " is left");
            }
            return why;
        }

        /** @throws EngineException when the next attempt may kill it, and needs what is in the exchange folder */
        private static AgentStage.NotKilled notKilled(Engine engine, StageId stage, EngineException why) {
            State now = state(engine, stage).orElse(State.ENDED);
            if (now == State.RUNNING) {
                return new AgentStage.NotKilled(why.getMessage(), AgentStage.NotKilled.Tree.RUNS);
            }
            if (now == State.RESUMING || why.reason() == FailureReason.STAGE_BUSY) {
                return new AgentStage.NotKilled(why.getMessage(), AgentStage.NotKilled.Tree.BUSY);
            }
            if (now == State.SUSPENDING && OF_NO_USE.contains(why.reason())) {
                return new AgentStage.NotKilled(why.getMessage(), AgentStage.NotKilled.Tree.FROZEN);
            }
            if (now == State.SUSPENDING) {
                throw why;
            }
            LOG.log(Level.WARNING, why, () -> "no process of " + stage + " is left, or they are about to end");
            return null;
        }
    }

    /** Lets a frozen tree run on; harmless when it is not frozen. The image of one that cannot run any more is kept. */
    static final class Thaw extends InEngine<Void> {
        private static final long serialVersionUID = 1L;

        Thaw(String id) {
            super(id);
        }

        @Override
        Void act(Engine engine, StageId stage, Path exchange) throws IOException {
            try {
                if (is(State.SUSPENDING, state(engine, stage))) {
                    engine.thaw(stage);
                }
            } catch (EngineException x) {
                if (x.reason() != FailureReason.NO_CHECKPOINT) {
                    throw x;
                }
            }
            if (!is(State.SUSPENDED, state(engine, stage))) {
                removeExchange(engine, exchange);
            }
            return null;
        }
    }

    /** Sees to it that a stage which the controller has as suspended does not run. */
    static final class Hold extends InEngine<Held> {
        private static final long serialVersionUID = 1L;

        Hold(String id) {
            super(id);
        }

        @Override
        Held act(Engine engine, StageId stage, Path exchange) {
            Optional<State> now = state(engine, stage);
            if (now.isEmpty()) {
                return Held.UNKNOWN;
            }
            try {
                switch (now.get()) {
                    case SUSPENDED:
                        return Held.IMAGE;
                    case RESUMING:
                        return Held.BUSY;
                    case RUNNING:
                    case SUSPENDING:
                        // Also when a dump came to its end and its answer did not arrive: it has to be made anew.
                        engine.freeze(stage, FreezeRequest.ofSuspended());
                        return Held.FROZEN;
                    default:
                        return Held.GONE;
                }
            } catch (EngineException x) {
                return Held.BUSY;
            }
        }
    }
}
