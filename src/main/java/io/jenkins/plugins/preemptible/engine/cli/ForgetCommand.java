package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Removes what is kept of a stage that is over: its folder with record, output and logs.
 *
 * <ol>
 *   <li>A stage that runs or is suspended is refused, unless it may be killed for that.
 *   <li>Its image file, which is the user's, is left.
 * </ol>
 */
@Command(
        name = "forget",
        description = "Removes the folder of a stage that ended or was killed, its output too. Its image file is left.")
final class ForgetCommand implements Callable<Integer> {

    private final Context context;

    @Option(names = "--kill", description = "Kills it first if it runs or is suspended.")
    private boolean kill;

    @Parameters(paramLabel = "ID", description = "The stage's id.")
    private StageId id;

    ForgetCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        Engine engine = context.engine();
        if (kill) {
            engine.kill(id);
        } else if (engine.list().stream().anyMatch(s -> s.id().equals(id) && s.state() == State.SUSPENDED)) {
            throw new EngineException(FailureReason.STAGE_SUSPENDED, id + "; --kill gives it up");
        }
        engine.forget(id);
        return ExitStatus.OK;
    }
}
