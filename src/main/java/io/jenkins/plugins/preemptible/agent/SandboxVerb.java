package io.jenkins.plugins.preemptible.agent;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Makes a stage's sandbox, in the container that stands around the stage where that can be.
 *
 * <p>A container that is none for that, or in which it fails, costs no more than its images: the sandbox is made on the host.
 */
final class SandboxVerb extends InEngine<AgentStage.Sandbox> {

    private static final long serialVersionUID = 1L;

    private final String name;
    private final String workspace;
    private final boolean closeConnections;
    private final StageOrigin origin;

    @CheckForNull
    private final ContainerRef container;

    private final List<String> marks;

    SandboxVerb(
            String id,
            String name,
            String workspace,
            boolean closeConnections,
            StageOrigin origin,
            @CheckForNull ContainerRef container,
            List<String> marks) {
        super(id);
        this.name = name;
        this.workspace = workspace;
        this.closeConnections = closeConnections;
        this.origin = origin;
        this.container = container;
        this.marks = List.copyOf(marks);
    }

    @Override
    AgentStage.Sandbox withoutEngine(EngineException why) {
        return AgentStage.Sandbox.refused(why.getMessage());
    }

    @Override
    AgentStage.Sandbox act(Engine engine, StageId stage, Path exchange) throws IOException {
        HostReport report = engine.check();
        if (!report.ok()) {
            return AgentStage.Sandbox.refused(report.missingWithRemedies());
        }
        try {
            remove(engine, stage);
            origin.write(homeOf(exchange), stage);
            String notInside = container == null ? null : inside(engine, stage);
            if (container == null || notInside != null) {
                engine.start(spec(stage));
            }
            return new AgentStage.Sandbox(engine.enterCommand(stage), null, !engine.checkpoints(), notInside);
        } catch (EngineException x) {
            return AgentStage.Sandbox.refused(x.getMessage());
        }
    }

    /** @return why it is not there; null when it is */
    @CheckForNull
    private String inside(Engine engine, StageId stage) {
        try {
            engine.startIn(spec(stage), container, marks);
            return null;
        } catch (EngineException x) {
            if (x.reason() != FailureReason.CONTAINER_NOT_ENTERED && x.reason() != FailureReason.NO_FREEZER) {
                throw x;
            }
            return x.getMessage();
        }
    }

    private StageSpec spec(StageId stage) {
        return new StageSpec(
                stage,
                name,
                Path.of(workspace),
                List.of(),
                sandboxEnvironment(),
                closeConnections ? Connections.CLOSE : Connections.REFUSE,
                List.of());
    }
}
