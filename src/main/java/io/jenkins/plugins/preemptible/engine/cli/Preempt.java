package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
import io.jenkins.plugins.preemptible.engine.home.OldImages;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.charset.Charset;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.TypeConversionException;

/**
 * The command line: stages of this host, without any Jenkins.
 *
 * <ol>
 *   <li>picocli reads the arguments and makes the command.
 *   <li>The command asks the engine and prints what it answers.
 *   <li>Every failure becomes one sentence on standard error and a status of {@link ExitStatus}.
 * </ol>
 */
@Command(
        name = "preempt",
        description = {
            "Starts stages on this host, suspends them into a file, and resumes them later.",
            "Besides these commands, 'preempt test' sets up what is missing and runs the project's tests;",
            "'preempt soak', 'fuzz' and 'compat' run its long ones, and 'preempt bench' measures."
        },
        synopsisSubcommandLabel = "COMMAND",
        footer = {
            "",
            "Stages are kept under $PREEMPTIBLE_HOME, by default ~/.local/state/preemptible.",
            "Suspending needs root, or 'preempt install-helper --user NAME', called once by an administrator."
        })
public final class Preempt implements Runnable {

    /** These say that the command was wrong. */
    private static final Set<FailureReason> USAGE = Set.of(
            FailureReason.UNKNOWN_STAGE,
            FailureReason.STAGE_ENDED,
            FailureReason.STAGE_RUNS,
            FailureReason.STAGE_SUSPENDED,
            FailureReason.KILLED,
            FailureReason.BAD_SPEC);

    @Spec
    private CommandSpec spec;

    private Preempt() {}

    public static void main(String[] args) {
        PrintWriter out = new PrintWriter(System.out, true, Charset.defaultCharset());
        PrintWriter err = new PrintWriter(System.err, true, Charset.defaultCharset());
        Path current = Path.of(System.getProperty("user.dir")).toAbsolutePath();
        int status = run(System.getenv(), current, out, err, args);
        OldImages.finish();
        System.exit(status);
    }

    /** Runs one command and returns its exit status; never throws for anything that a user can do. */
    static int run(
            Map<String, String> environment, Path currentFolder, PrintWriter out, PrintWriter err, String... args) {
        Context context = new Context(environment, currentFolder, out);
        CommandLine line = new CommandLine(new Preempt())
                .addSubcommand(new RunCommand(context))
                .addSubcommand(new WaitCommand(context))
                .addSubcommand(new ListCommand(context))
                .addSubcommand(new KillCommand(context))
                .addSubcommand(new ForgetCommand(context))
                .addSubcommand(new CleanCommand(context))
                .addSubcommand(new SuspendStageCommand(context))
                .addSubcommand(new ResumeStageCommand(context))
                .addSubcommand(new InspectCommand(context))
                .addSubcommand(new DiffCommand(context))
                .addSubcommand(new CheckCommand(context))
                .addSubcommand(new DemoCommand(context))
                .addSubcommand(new SimulateCommand(context))
                .addSubcommand(new InstallHelperCommand(context));
        line.registerConverter(StageId.class, Preempt::stageId);
        line.setOut(out)
                .setErr(err)
                .setStopAtPositional(false)
                .setUsageHelpLongOptionsMaxWidth(32)
                .setParameterExceptionHandler(Preempt::wrongUsage)
                .setExecutionExceptionHandler((e, command, parsed) -> failed(e, command, environment));
        describe(line);
        line.getSubcommands().values().forEach(Preempt::describe);
        // All that stands after the command belongs to it, options too.
        line.getSubcommands().get("run").setStopAtPositional(true);
        try (CommandLog log = CommandLog.to(err, environment.containsKey("PREEMPTIBLE_DEBUG"))) {
            return line.execute(args);
        }
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "A command is missing");
    }

    private static void describe(CommandLine command) {
        command.getCommandSpec()
                .addOption(OptionSpec.builder("-h", "--help")
                        .usageHelp(true)
                        .description("Shows this.")
                        .build());
        Map<String, String> codes = new LinkedHashMap<>();
        for (String each : ExitStatus.HELP) {
            codes.put(each.substring(0, 1), each.substring(2));
        }
        command.getCommandSpec()
                .usageMessage()
                .exitCodeListHeading("%nExit status:%n")
                .exitCodeList(codes);
    }

    private static StageId stageId(String text) {
        try {
            return StageId.parse(text);
        } catch (IllegalArgumentException e) {
            throw new TypeConversionException(e.getMessage() + "; 'preempt list' shows the ids of this host");
        }
    }

    private static int wrongUsage(ParameterException e, String[] args) {
        CommandLine command = e.getCommandLine();
        String name = command.getCommandSpec().qualifiedName();
        String message = oneLine(e.getMessage()).replaceAll("^Error: |[.\\s]+$", "");
        command.getErr().println("preempt: " + message + "; see '" + name + " --help'.");
        return ExitStatus.USAGE;
    }

    private static int failed(Exception e, CommandLine command, Map<String, String> environment) {
        if (environment.containsKey("PREEMPTIBLE_DEBUG")) {
            e.printStackTrace(command.getErr());
        }
        if (e instanceof InterruptedException) {
            Thread.currentThread().interrupt();
            return ExitStatus.INTERRUPTED;
        }
        if (e instanceof RefusedException || e instanceof ImageException) {
            command.getErr().println("preempt: " + sentence(e.getMessage()));
            return ExitStatus.USAGE;
        }
        if (e instanceof EngineException engine) {
            command.getErr().println("preempt: " + words(engine));
            return USAGE.contains(engine.reason()) ? ExitStatus.USAGE : ExitStatus.FAILED;
        }
        if (e instanceof UncheckedIOException) {
            command.getErr()
                    .println(
                            "preempt: "
                                    + sentence(
                                            e.getMessage()
                                                    + "; see that PREEMPTIBLE_HOME names a folder that you may write to, on a disk with room"));
            return ExitStatus.FAILED;
        }
        command.getErr()
                .println("preempt: "
                        + sentence("Something unexpected happened, and the stages were left as they are ("
                                + e.getClass().getSimpleName() + (e.getMessage() == null ? "" : ": " + e.getMessage())
                                + "); set PREEMPTIBLE_DEBUG=1 and report what it prints"));
        return ExitStatus.FAILED;
    }

    /** What a failure of the engine says; of one that comes from an image, what the image says. */
    static String words(EngineException e) {
        return sentence(e.getCause() instanceof ImageException image ? image.getMessage() : e.getMessage());
    }

    static String sentence(String message) {
        String line = oneLine(message);
        return line.endsWith(".") ? line : line + ".";
    }

    private static String oneLine(String text) {
        return String.valueOf(text).replaceAll("\\s*\\R\\s*", " ").strip();
    }
}
