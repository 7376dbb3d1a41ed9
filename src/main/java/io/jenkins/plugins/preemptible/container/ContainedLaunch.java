package io.jenkins.plugins.preemptible.container;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.AbortException;
import hudson.Launcher;
import hudson.Proc;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.DurableTasks;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import io.jenkins.plugins.preemptible.lifecycle.agents.Preflights;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.AbortedStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageContainers;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/**
 * A launch of Docker or Podman by a step of a preemptible block.
 *
 * <ol>
 *   <li>A durable task in a container: container and control folder are noted with the stage before it is launched, and it
 *       is launched only while the stage runs, since nothing can be started in a paused container.
 *   <li>Where the stage or a part of it lives in the container, {@code step} starts a durable task there, and only the rest
 *       comes here.
 *   <li>The beginning of a kill, while the stage has no executor: the container is paused, so {@link AbortedStage} takes it
 *       over, and the plugin is told that there is no process.
 *   <li>The end of a container: it is forgotten, and what lives there is ended before. Everything else passes unchanged.
 * </ol>
 *
 * @param inner what launches it
 */
public record ContainedLaunch(String stageId, Launcher inner, ContainerCommand command) {

    private static final int MOST = 200;
    private static final long LONGEST_WAIT_SECONDS = 60;
    /** Without anybody to kill it fails, which is none of its caller's business. */
    private static final String KILL_ALL = "kill -9 -1; exit 0";

    public Proc launch(Launcher.ProcStarter starter) throws IOException {
        StageRecord stage = StageRegistry.get().find(stageId);
        if (stage == null || !stage.hasSandbox()) {
            return inner.launch(starter);
        }
        Optional<String> controlFolder = DurableTasks.controlFolder(starter.cmds());
        ContainerRef container = command.execIn();
        if (controlFolder.isPresent()) {
            begin(stage, container, controlFolder.get());
        } else if (container != null && command.listsProcesses()) {
            if (aborted(stage, container)) {
                return new NoProcess();
            }
        } else {
            new ContainedPart(stageId).leave(command);
            forgetEnded(stage);
        }
        return inner.launch(starter);
    }

    private void begin(StageRecord stage, ContainerRef container, String controlFolder) throws IOException {
        if (container == null) {
            throw new AbortException("A step of the preemptible stage '" + stage.name() + "' would run in a container"
                    + " that cannot be told from its command line. Use docker.image(…).inside, or run it outside of"
                    + " preemptible { }.");
        }
        if (!PlainText.is(controlFolder)) {
            throw new AbortException("No step can be started in " + PlainText.of(controlFolder)
                    + ": its name has a control character, or one that is none. Use another folder.");
        }
        StageRegistry.get().update(stageId, record -> record.launchedIn(container, controlFolder, MOST));
        LiveStage live = LiveStage.find(stageId);
        if (live != null) {
            // A suspension that has begun gives up now.
            live.launching();
        }
        AwaitedStage.running(stageId);
        Preflights.afterStart(stageId);
    }

    private boolean aborted(StageRecord stage, ContainerRef container) {
        if (home(stage) != null) {
            return !stage.controlFolders().isEmpty()
                    && AbortedStage.kill(
                            stageId, DurableTasks.marks(stage.controlFolders().get(0)), this::endAll);
        }
        StageContainers known = stage.containers();
        return known != null
                && known.folderIn(container)
                        .filter(folder -> AbortedStage.kill(
                                stageId,
                                DurableTasks.marks(folder),
                                () -> AgentStage.on(Nodes.named(stage.node()), stageId)
                                        .killInContainer(container)))
                        .isPresent();
    }

    /** How the stage, or its part, in this container is entered now; null when neither lives there. */
    @CheckForNull
    private EnterCommand.Contained home(@CheckForNull StageRecord stage) {
        if (stage == null) {
            return null;
        }
        EnterCommand.Contained home =
                stage.enterCommand() instanceof EnterCommand.Contained whole ? whole : stage.contained();
        return home != null && command.startsIn(home.container()) ? home : null;
    }

    /**
     * All but the init of the stage, with the rights of its processes. Carried out when the stage runs again: what it was entered by
     * before it was suspended is over then.
     */
    private void endAll() throws IOException, InterruptedException {
        EnterCommand.Contained home = home(StageRegistry.get().find(stageId));
        if (home == null) {
            // It has ended, or its part has.
            return;
        }
        List<String> words = new ArrayList<>(home.words());
        words.addAll(List.of("sh", "-c", KILL_ALL));
        int code = inner.launch()
                .cmds(words.stream().map(word -> word.replace("$", "$$")).toList())
                .quiet(true)
                .start()
                .joinWithTimeout(LONGEST_WAIT_SECONDS, TimeUnit.SECONDS, inner.getListener());
        if (code != 0) {
            throw new IOException("what runs in the " + home.container().shown()
                    + " could not be killed: the command that enters it has ended with " + code);
        }
    }

    private void forgetEnded(StageRecord stage) {
        StageContainers containers = stage.containers();
        if (containers != null) {
            for (ContainerRef known : containers.all()) {
                if (command.ends(known)) {
                    StageRegistry.get().update(stageId, record -> record.containerEnded(known));
                }
            }
        }
    }
}
