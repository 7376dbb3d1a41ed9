package io.jenkins.plugins.preemptible.step;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.AbortException;
import hudson.Launcher;
import hudson.LauncherDecorator;
import hudson.Proc;
import hudson.model.Node;
import hudson.model.Run;
import io.jenkins.plugins.preemptible.agent.DurableTasks;
import io.jenkins.plugins.preemptible.container.ContainedLaunch;
import io.jenkins.plugins.preemptible.container.ContainedPart;
import io.jenkins.plugins.preemptible.container.ContainerCommand;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import io.jenkins.plugins.preemptible.lifecycle.agents.Preflights;
import io.jenkins.plugins.preemptible.lifecycle.pipeline.AbortedStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import jenkins.tasks.filters.EnvVarsFilterableBuilder;
import org.jenkinsci.plugins.workflow.steps.BodyInvoker;

/**
 * Starts the processes of a stage's steps inside the stage's sandbox.
 *
 * <ol>
 *   <li>Merged into the body's context; Jenkins applies it whenever a step inside asks for a launcher. One of another
 *       node is left alone.
 *   <li>A durable task's launch gets the sandbox's enter command in front and is noted with its control folder; every
 *       other launch passes unchanged, since it ends with the step that made it.
 *   <li>What is launched in a container of Docker or Podman is none of the sandbox's ({@link ContainedLaunch}), unless the
 *       sandbox is inside of the same container, or gets a part there ({@link ContainedPart}).
 *   <li>A kill that finds the stage suspended is taken over by {@link AbortedStage}.
 * </ol>
 *
 * Called on the Pipeline's own thread: nothing here may wait for an agent longer than the launch itself does. The one
 * exception is a launch that comes while the stage's restore is being concluded, which would fail the build otherwise.
 */
final class SandboxDecorator extends LauncherDecorator implements Serializable {

    private static final long serialVersionUID = 1L;
    private static final long LONGEST_WAIT_SECONDS = 60;

    private final String stageId;

    SandboxDecorator(String stageId) {
        this.stageId = stageId;
    }

    String stageId() {
        return stageId;
    }

    @Override
    public Launcher decorate(Launcher launcher, Node node) {
        StageRecord stage = StageRegistry.get().find(stageId);
        // A node { } block inside of ours takes launchers of other agents, which know nothing of this stage.
        boolean own = stage != null && node != null && node.getNodeName().equals(stage.node());
        return own ? new SandboxLauncher(launcher, stageId) : launcher;
    }

    /**
     * What the body's launchers pass through.
     *
     * @param around what stands around the block already; null for nothing
     * @param inContainer whether a container block is among that: it has to put its {@code docker exec} in front before ours
     *     sees the command
     */
    static LauncherDecorator around(@CheckForNull LauncherDecorator around, String stageId, boolean inContainer) {
        LauncherDecorator ours = new SandboxDecorator(stageId);
        return inContainer && around != null
                ? BodyInvoker.mergeLauncherDecorators(ours, around)
                : BodyInvoker.mergeLauncherDecorators(around, ours);
    }

    private static final class SandboxLauncher extends Launcher.DecoratedLauncher {
        private final String stageId;

        SandboxLauncher(Launcher inner, String stageId) {
            super(inner);
            this.stageId = stageId;
        }

        @Override
        public Proc launch(ProcStarter starter) throws IOException {
            ContainerCommand container = ContainerCommand.of(starter.cmds());
            Optional<String> controlFolder = DurableTasks.controlFolder(starter.cmds());
            boolean beside = container != null && (controlFolder.isEmpty() || !isHome(container));
            if (beside && (controlFolder.isEmpty() || new ContainedPart(stageId).enter(container.execIn()) == null)) {
                return new ContainedLaunch(stageId, getInner(), container).launch(starter);
            }
            refuseKubernetes(starter.cmds());
            StageRecord stage = controlFolder.isEmpty() ? StageRegistry.get().find(stageId) : resumed();
            EnterCommand enter = stage == null ? null : beside ? stage.contained() : stage.enterCommand();
            if (beside && enter == null) {
                // Its container has ended while it was waited for.
                return new ContainedLaunch(stageId, getInner(), container).launch(starter);
            }
            if (enter == null || controlFolder.isEmpty()) {
                return getInner().launch(starter);
            }
            if (stage.state() != StageState.RUNNING && stage.state() != StageState.SUSPENDING) {
                throw new AbortException("The preemptible stage '" + stage.name()
                        + "' is suspended and has no executor, so no further step can be started in it;"
                        + " a step of it was interrupted while it was suspended");
            }
            if (!PlainText.is(controlFolder.get())) {
                throw new AbortException("No step can be started in " + PlainText.of(controlFolder.get())
                        + ": its name has a control character, or one that is none. Use another folder.");
            }
            LiveStage live = LiveStage.find(stageId);
            if (live != null) {
                live.launching();
            }
            StageLaunches.note(stageId, controlFolder.get());
            Preflights.afterStart(stageId);
            if (enter instanceof EnterCommand.Contained) {
                // The words have what the step gets. The host's own programs in front run as root, with nothing of a
                // build.
                starter.envs(new String[0]);
            }
            return getInner()
                    .launch(
                            container != null && enter instanceof EnterCommand.Contained home
                                    ? inSandbox(
                                            starter,
                                            home.words(container.folder(), container.variables()),
                                            1 + container.optionsLength())
                                    : inSandbox(starter, enter.words(), 0));
        }

        /** Whether the stage lives in the container in which this starts something. */
        private boolean isHome(ContainerCommand container) {
            StageRecord stage = StageRegistry.get().find(stageId);
            return stage != null
                    && stage.enterCommand() instanceof EnterCommand.Contained home
                    && container.startsIn(home.container());
        }

        /**
         * The tree runs, and its step may end, before the agent has answered and the stage counts as running: it does so
         * in a moment, and has another enter command then.
         */
        private StageRecord resumed() throws IOException {
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(LONGEST_WAIT_SECONDS);
            StageRecord stage = StageRegistry.get().find(stageId);
            while (stage != null && stage.state() == StageState.RESUMING && System.nanoTime() - end < 0) {
                LiveStage live = LiveStage.find(stageId);
                if (live == null || live.aborting() || live.ending()) {
                    break;
                }
                try {
                    Thread.sleep(20);
                } catch (InterruptedException x) {
                    Thread.currentThread().interrupt();
                    throw new IOException("interrupted", x);
                }
                stage = StageRegistry.get().find(stageId);
            }
            return stage;
        }

        /** @param without how many words of the command the new ones stand for; what they say must not show in logs either */
        private static ProcStarter inSandbox(ProcStarter starter, List<String> enter, int without) {
            List<String> command = new ArrayList<>();
            for (String word : enter) {
                // LocalLauncher expands variables in arguments.
                command.add(word.replace("$", "$$"));
            }
            List<String> own = starter.cmds();
            command.addAll(own.subList(without, own.size()));
            boolean[] masks = starter.masks();
            starter.cmds(command);
            if (masks != null) {
                boolean[] shifted = new boolean[command.size()];
                Arrays.fill(shifted, 0, enter.size(), without > 0);
                System.arraycopy(masks, without, shifted, enter.size(), masks.length - without);
                starter.masks(shifted);
            }
            return starter;
        }

        private void refuseKubernetes(List<String> command) throws AbortException {
            if (!command.isEmpty()
                    && command.get(0)
                            .substring(command.get(0).lastIndexOf('/') + 1)
                            .equals("kubectl")) {
                throw new AbortException(Surroundings.KUBECTL_INSIDE);
            }
        }

        @Override
        public void kill(Map<String, String> modelEnvVars) throws IOException, InterruptedException {
            if (!AbortedStage.kill(stageId, modelEnvVars, () -> getInner().kill(modelEnvVars))) {
                getInner().kill(modelEnvVars);
            }
        }

        // Not forwarded by DecoratedLauncher; without it a build's environment filters would be lost inside the stage.
        @Override
        public void prepareFilterRules(Run<?, ?> run, EnvVarsFilterableBuilder builder) {
            getInner().prepareFilterRules(run, builder);
        }
    }
}
