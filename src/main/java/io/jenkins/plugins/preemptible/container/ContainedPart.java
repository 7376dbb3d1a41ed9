package io.jenkins.plugins.preemptible.container;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageContainers;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * The part of a stage that lives in the container of a block inside of it.
 *
 * <ol>
 *   <li>Made when the first durable task of the block is launched; that one and all further ones enter it, in place of
 *       {@code docker exec}.
 *   <li>A container that is none for that costs no more than its images: the task is launched as without this. That is said
 *       once in the build log, and the container is not tried again.
 *   <li>Ended just before its container is: what is frozen in a container keeps that from ending.
 * </ol>
 *
 * Called on Pipeline's threads, which wait for the agent: as long as {@code docker run} and {@code docker stop} take, which come
 * before and after.
 */
public record ContainedPart(String stageId) {

    private static final Logger LOGGER = Logger.getLogger(ContainedPart.class.getName());

    /**
     * How a process gets into the stage's part in this container.
     *
     * @return null when there can be none
     * @throws IOException when the stage is suspended, and stays so
     */
    @CheckForNull
    public EnterCommand.Contained enter(@CheckForNull ContainerRef container) throws IOException {
        StageRecord stage = StageRegistry.get().find(stageId);
        if (container == null || stage == null || !stage.hasSandbox()) {
            return null;
        }
        EnterCommand.Contained known = stage.contained();
        if (known != null && isIn(known, container)) {
            return known;
        }
        LiveStage live = LiveStage.find(stageId);
        if (live == null || isRefused(stage, container)) {
            return null;
        }
        // A suspension that has begun gives up now.
        live.launching();
        AwaitedStage.running(stageId);
        AgentStage.Entered entered = ask(stage, container);
        if (entered == null) {
            return null;
        }
        if (entered.refusal() != null) {
            StageLog.line(live.context(), entered.refusal());
            return null;
        }
        EnterCommand.Contained enter = entered.enterCommand();
        if (enter == null || !isIn(enter, container)) {
            return null;
        }
        StageRegistry.get().update(stageId, record -> record.contained(enter));
        return enter;
    }

    private static boolean isIn(EnterCommand.Contained part, ContainerRef container) {
        return part.container().program().equals(container.program())
                && part.container().id().startsWith(container.id());
    }

    /** Its tasks are noted with the stage as those of a container that is not entered. */
    private static boolean isRefused(StageRecord stage, ContainerRef container) {
        StageContainers others = stage.containers();
        return others != null && others.all().contains(container);
    }

    @CheckForNull
    private AgentStage.Entered ask(StageRecord stage, ContainerRef container) throws IOException {
        try {
            return AgentStage.on(Nodes.named(stage.node()), stageId)
                    .enterContainer(container, StageContainers.marks(stage), stage.controlFolders());
        } catch (InterruptedException x) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", x);
        } catch (IOException | RuntimeException x) {
            LOGGER.log(
                    Level.WARNING, x, () -> "what " + stage + " does in " + container.shown() + " can be frozen only");
            return null;
        }
    }

    /** Ends the part before this command ends its container; without effect where it does not. */
    void leave(ContainerCommand command) {
        StageRecord stage = StageRegistry.get().find(stageId);
        EnterCommand.Contained part = stage == null ? null : stage.contained();
        if (part == null || !command.ends(part.container())) {
            return;
        }
        try {
            AgentStage.on(Nodes.named(stage.node()), stageId).leaveContainer();
        } catch (InterruptedException x) {
            Thread.currentThread().interrupt();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(
                    Level.WARNING, x, () -> "cannot end what " + stage + " has started in its container; that ends it");
        }
        StageRegistry.get().update(stageId, record -> record.contained(null));
    }
}
