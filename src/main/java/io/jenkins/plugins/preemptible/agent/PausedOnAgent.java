package io.jenkins.plugins.preemptible.agent;

import hudson.model.Node;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.PausedContainers;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.io.IOException;
import java.nio.file.Path;

/** Asks an agent which containers are paused there with a stage, also with one that is over. */
public final class PausedOnAgent {

    private PausedOnAgent() {}

    /** @throws IOException when the agent is offline, or does not tell */
    public static PausedContainers of(Node node, String id) throws IOException, InterruptedException {
        PausedContainers told = Limited.act(AgentStage.homeOf(node), PausedContainers.class, new Ask(id));
        return told == null ? PausedContainers.UNTOLD : told;
    }

    private static final class Ask extends InEngine<PausedContainers> {
        private static final long serialVersionUID = 1L;

        Ask(String id) {
            super(id);
        }

        @Override
        PausedContainers act(Engine engine, StageId stage, Path exchange) {
            return engine.pausedContainers(stage);
        }
    }
}
