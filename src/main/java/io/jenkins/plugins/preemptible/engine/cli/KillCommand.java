package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/**
 * Ends a stage for good.
 *
 * <ol>
 *   <li>A running or a frozen tree is killed whole.
 *   <li>A suspended stage has no processes: it is only marked as never to be resumed.
 *   <li>Its image file, which is the user's, is left.
 * </ol>
 */
@Command(name = "kill", description = "Kills all processes of the stage, frozen ones too. Its image file is left.")
final class KillCommand implements Callable<Integer> {

    private final Context context;

    @Parameters(paramLabel = "ID", description = "The stage's id.")
    private StageId id;

    KillCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        context.engine().kill(id);
        return ExitStatus.OK;
    }
}
