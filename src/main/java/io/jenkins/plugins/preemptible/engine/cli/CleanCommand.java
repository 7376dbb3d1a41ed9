package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.api.Leftover;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;

/** Removes the leftovers of stages that are over, and says what it removed. */
@Command(
        name = "clean",
        description = "Removes what is left of stages that are over: folders of those that ended or were killed, empty"
                + " control groups that are older than ten minutes, also those of other home folders. Stages that run or are"
                + " suspended are left. Prints a line for each thing.")
final class CleanCommand implements Callable<Integer> {

    private final Context context;

    @Spec
    private CommandSpec spec;

    @Option(names = "--dry-run", description = "Removes nothing, only says what would go.")
    private boolean dryRun;

    @Option(
            names = "--images-older-than",
            paramLabel = "DAYS",
            description = "Also removes the image files of stages that were killed, of that age or older; 0 to 36500.")
    private Integer days;

    CleanCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        if (days != null && (days < 0 || days > 36_500)) {
            throw new ParameterException(spec.commandLine(), "--images-older-than takes 0 to 36500 days, not " + days);
        }
        List<Leftover> left = context.engine().clean(dryRun, days == null ? null : Duration.ofDays(days));
        for (Leftover each : left) {
            context.out().println((dryRun ? "would remove " : "removed ") + words(each));
        }
        if (left.isEmpty()) {
            context.out().println("nothing is left of stages that are over");
        }
        return ExitStatus.OK;
    }

    private static String words(Leftover left) {
        return switch (left.kind()) {
            case FOLDER -> "the folder of a stage that is " + left.why() + ": " + left.path();
            case FOLDER_WITHOUT_RECORD -> "a folder in which no stage is: " + left.path();
            case GROUP -> "an empty control group: " + left.path();
            case IMAGE -> "the image of the stage " + left.why() + ", which was killed: " + left.path();
        };
    }
}
