package io.jenkins.plugins.preemptible.container;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.Launcher;
import hudson.LauncherDecorator;
import hudson.Proc;
import hudson.model.Node;
import hudson.model.TaskListener;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import java.io.IOException;
import java.util.List;

/**
 * The container that stands around a preemptible block.
 *
 * <p>Its plugin tells nobody which one it is. So the launcher of that block is asked to launch something, on top of one that
 * starts nothing: what it makes of the command names the container.
 */
public final class ContainerAround {

    private ContainerAround() {}

    /** @return null when it is not to be told */
    @CheckForNull
    public static ContainerRef find(LauncherDecorator around, Node node, FilePath workspace) {
        Recorder recorder = new Recorder(node.createLauncher(TaskListener.NULL));
        try {
            around.decorate(recorder, node)
                    .launch()
                    .cmds("true")
                    .pwd(workspace)
                    .quiet(true)
                    .start();
        } catch (IOException | RuntimeException e) {
            // Steps of such a block fail in the same way, and say why.
            return null;
        }
        ContainerCommand command = ContainerCommand.of(recorder.command);
        return command == null ? null : command.execIn();
    }

    private static final class Recorder extends Launcher.DecoratedLauncher {
        private List<String> command = List.of();

        Recorder(Launcher inner) {
            super(inner);
        }

        @Override
        public Proc launch(ProcStarter starter) {
            command = List.copyOf(starter.cmds());
            return new NoProcess();
        }
    }
}
