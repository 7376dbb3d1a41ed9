package io.jenkins.plugins.preemptible.agent;

import io.jenkins.plugins.preemptible.agent.AgentStage.Restore;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.ResumeReport;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;

/**
 * The verbs that resume a stage.
 *
 * <ol>
 *   <li>{@link ResumeHere} takes what is still on the agent: the frozen tree, or CRIU's files of the last suspension.
 *   <li>{@link RestoreStage} takes the sealed image that was brought into the exchange folder.
 *   <li>A stage that turns out to run already, since the answer to an earlier attempt was lost, is success.
 * </ol>
 */
final class ResumeVerbs {

    private ResumeVerbs() {}

    /** Answers null when nothing of the stage is left on the agent: then its sealed image has to be brought. */
    static final class ResumeHere extends InEngine<Restore> {
        private static final long serialVersionUID = 1L;

        ResumeHere(String id) {
            super(id);
        }

        @Override
        Restore act(Engine engine, StageId stage, Path exchange) throws IOException {
            try {
                State now = state(engine, stage).orElse(State.ENDED);
                switch (now) {
                    case RUNNING:
                        return running(engine, stage);
                    case SUSPENDING:
                    case SUSPENDED:
                    case RESUMING:
                        Optional<ResumeReport> done = engine.resumeHere(stage);
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
            try {
                if (is(State.RUNNING, state(engine, stage))) {
                    return running(engine, stage);
                }
                return went(engine, stage, engine.resume(exchange.resolve(AgentStage.IMAGE_FILE), ImageKey.parse(key)));
            } catch (EngineException x) {
                return refused(x);
            } finally {
                removeExchange(engine, exchange);
            }
        }
    }

    private static Restore refused(EngineException why) {
        if (why.reason() == FailureReason.NO_ANSWER || why.reason() == FailureReason.CONTAINER_UNREACHABLE) {
            // It says nothing of the stage: the caller waits, as for an agent that is away.
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
