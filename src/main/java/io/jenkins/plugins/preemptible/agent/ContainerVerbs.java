package io.jenkins.plugins.preemptible.agent;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * The verbs for stages whose steps run in containers.
 *
 * <ol>
 *   <li>{@link Tell} tells the agent which they are, before it looks at the stage or freezes it.
 *   <li>{@link Kill} ends what the stage has started in one of them, whether it is paused or not.
 *   <li>{@link Enter} gives the stage a part that lives in one, {@link Leave} ends that.
 * </ol>
 */
final class ContainerVerbs {

    /** Pipeline's own thread waits for these. */
    static final long LIMIT_MILLIS = TimeUnit.SECONDS.toMillis(60);

    private ContainerVerbs() {}

    static Optional<EnterCommand.Contained> contained(Engine engine, StageId stage) {
        return engine.containedCommand(stage)
                .filter(EnterCommand.Contained.class::isInstance)
                .map(EnterCommand.Contained.class::cast);
    }

    static final class Tell extends InEngine<Void> {
        private static final long serialVersionUID = 1L;
        private final List<ContainerRef> containers;
        private final List<String> marks;

        Tell(String id, List<ContainerRef> containers, List<String> marks) {
            super(id);
            this.marks = List.copyOf(marks);
            this.containers = List.copyOf(containers);
        }

        @Override
        Void act(Engine engine, StageId stage, Path exchange) {
            if (state(engine, stage).isPresent()) {
                engine.tellContainers(stage, containers, marks);
            }
            return null;
        }
    }

    static final class Kill extends InEngine<Void> {
        private static final long serialVersionUID = 1L;
        private final ContainerRef container;

        Kill(String id, ContainerRef container) {
            super(id);
            this.container = container;
        }

        @Override
        Void act(Engine engine, StageId stage, Path exchange) {
            engine.killInContainer(stage, container);
            return null;
        }
    }

    static final class Enter extends InEngine<AgentStage.Entered> {
        private static final long serialVersionUID = 1L;
        private final ContainerRef container;
        private final List<String> marks;
        private final List<String> controlFolders;

        Enter(String id, ContainerRef container, List<String> marks, List<String> controlFolders) {
            super(id);
            this.container = container;
            this.marks = List.copyOf(marks);
            this.controlFolders = List.copyOf(controlFolders);
        }

        @Override
        AgentStage.Entered withoutEngine(EngineException why) {
            return new AgentStage.Entered(null, why.getMessage());
        }

        @Override
        AgentStage.Entered act(Engine engine, StageId stage, Path exchange) {
            try {
                Optional<EnterCommand.Contained> other = contained(engine, stage)
                        .filter(part -> !part.container().id().startsWith(container.id()));
                if (other.isPresent()
                        && DurableTasks.startingOne(controlFolders).isPresent()) {
                    // It shows in no control group yet.
                    throw new EngineException(
                            FailureReason.CONTAINER_NOT_ENTERED,
                            container.shown() + ": a step is just starting in "
                                    + other.get().container().shown());
                }
                engine.enterContainer(stage, container, marks);
                return new AgentStage.Entered(contained(engine, stage).orElseThrow(), null);
            } catch (EngineException x) {
                return new AgentStage.Entered(null, x.getMessage());
            }
        }
    }

    static final class Leave extends InEngine<Void> {
        private static final long serialVersionUID = 1L;

        Leave(String id) {
            super(id);
        }

        @Override
        Void act(Engine engine, StageId stage, Path exchange) {
            engine.leaveContainer(stage);
            return null;
        }
    }
}
