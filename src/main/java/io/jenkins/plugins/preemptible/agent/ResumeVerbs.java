package io.jenkins.plugins.preemptible.agent;

import io.jenkins.plugins.preemptible.agent.AgentStage.Restore;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import io.jenkins.plugins.preemptible.engine.api.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/**
 * The verbs that resume a stage.
 *
 * <ol>
 *   <li>{@link ResumeHere} takes what is still on the agent: the frozen tree, or CRIU's files of the last suspension.
 *   <li>{@link RestoreStage} takes the sealed image that was brought into the exchange folder, {@link RestoreUnstored} the
 *       one that was sealed there and is nowhere else.
 *   <li>A stage that turns out to run already, since the answer to an earlier attempt was lost, is success.
 * </ol>
 */
final class ResumeVerbs {

    /** They say nothing of the stage, or that an earlier call is still at it: the caller waits, as for an agent that is away. */
    private static final Set<FailureReason> WAITED_FOR = Set.of(
            FailureReason.NO_ANSWER,
            FailureReason.CONTAINER_UNREACHABLE,
            FailureReason.STAGE_BUSY,
            FailureReason.STAGE_RUNS);

    private ResumeVerbs() {}

    /** Answers null when nothing of the stage on the agent can serve: then its sealed image has to be brought. */
    static final class ResumeHere extends InEngine<Restore> {
        private static final long serialVersionUID = 1L;

        private final LastResort otherwise;

        ResumeHere(String id, LastResort otherwise) {
            super(id);
            this.otherwise = otherwise;
        }

        @Override
        Restore act(Engine engine, StageId stage, Path exchange) throws IOException {
            try {
                State now = state(engine, stage).orElse(State.ENDED);
                switch (now) {
                    case RUNNING:
                        // Its record may say so of one that has ended, as long as another call holds its lock.
                        return engine.status(stage).initPid() == 0 ? null : running(engine, stage);
                    case SUSPENDING:
                    case SUSPENDED:
                    case RESUMING:
                        Optional<ResumeReport> done = engine.resumeHere(stage, otherwise);
                        if (done.isEmpty()) {
                            return null;
                        }
                        Restore answer = went(engine, stage, done.get());
                        removeExchange(engine, exchange);
                        return answer;
                    default:
                        return null;
                }
            } catch (EngineException x) {
                return refused(x);
            }
        }
    }

    /** Restores the image in the exchange folder. */
    static final class RestoreStage extends InEngine<Restore> {
        private static final long serialVersionUID = 1L;
        private final String key;

        RestoreStage(String id, String key) {
            super(id);
            this.key = key;
        }

        @Override
        Restore act(Engine engine, StageId stage, Path exchange) throws IOException {
            boolean atIt = false;
            try {
                if (is(State.RUNNING, state(engine, stage))) {
                    return running(engine, stage);
                }
                return went(engine, stage, engine.resume(exchange.resolve(AgentStage.IMAGE_FILE), ImageKey.parse(key)));
            } catch (EngineException x) {
                atIt = x.reason() == FailureReason.STAGE_BUSY;
                return refused(x);
            } finally {
                if (!atIt) {
                    removeExchange(engine, exchange);
                }
            }
        }
    }

    /** Restores the image that was sealed into the exchange folder and not stored; keeps it where that fails. Null: there is none. */
    static final class RestoreUnstored extends InEngine<Restore> {
        private static final long serialVersionUID = 1L;
        private final String key;

        RestoreUnstored(String id, String key) {
            super(id);
            this.key = key;
        }

        @Override
        Restore act(Engine engine, StageId stage, Path exchange) throws IOException {
            Path image = exchange.resolve(AgentStage.IMAGE_FILE);
            try {
                State now = state(engine, stage).orElse(State.ENDED);
                if (now == State.RUNNING) {
                    return running(engine, stage);
                }
                if (now == State.RESUMING) {
                    throw new ResumeFailedException(FailureReason.STAGE_BUSY, stage.value());
                }
                if (now != State.SUSPENDED || !isSealedInto(image, engine, stage)) {
                    // An earlier call, whose answer was lost, may have ended since.
                    return is(State.RUNNING, state(engine, stage)) ? running(engine, stage) : null;
                }
                Restore answer = went(engine, stage, engine.resume(image, ImageKey.parse(key)));
                removeExchange(engine, exchange);
                return answer;
            } catch (EngineException x) {
                return refused(x);
            }
        }
    }

    private static Restore refused(EngineException why) {
        if (WAITED_FOR.contains(why.reason())) {
            throw why;
        }
        return Restore.refused(AgentStage.Refusal.of(why));
    }

    private static Restore running(Engine engine, StageId stage) {
        return new Restore(
                null, "ALREADY_RUNNING", engine.enterCommand(stage), contained(engine, stage), 0, 0, 0, List.of());
    }

    private static Restore went(Engine engine, StageId stage, ResumeReport done) {
        return new Restore(
                null,
                done.tier().name(),
                engine.enterCommand(stage),
                contained(engine, stage),
                done.unpackMillis(),
                done.restoreMillis(),
                done.processes(),
                List.copyOf(done.warnings()));
    }

    private static EnterCommand.Contained contained(Engine engine, StageId stage) {
        return ContainerVerbs.contained(engine, stage).orElse(null);
    }
}
