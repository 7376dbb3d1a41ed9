package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Parameters;

/**
 * Waits for a stage's end and exits as its command did.
 *
 * <ol>
 *   <li>It waits across any number of suspensions.
 *   <li>A command that a signal ended gives 128 and the signal's number.
 *   <li>Several may wait for one stage.
 * </ol>
 */
@Command(
        name = "wait",
        description = "Waits for the stage's end, across suspensions, and exits with its command's exit code.")
final class WaitCommand implements Callable<Integer> {

    private final Context context;

    @Parameters(paramLabel = "ID", description = "The stage's id.")
    private StageId id;

    WaitCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() throws InterruptedException {
        return context.engine().await(id);
    }
}
