package io.jenkins.plugins.preemptible.agent;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.nio.file.Path;
import java.util.List;

/**
 * The verbs for stages whose steps run in containers.
 *
 * <ol>
 *   <li>{@link Tell} tells the agent which they are, before it looks at the stage or freezes it.
 *   <li>{@link Kill} ends what the stage has started in one of them, whether it is paused or not.
 * </ol>
 */
final class ContainerVerbs {

    private ContainerVerbs() {}

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
}
