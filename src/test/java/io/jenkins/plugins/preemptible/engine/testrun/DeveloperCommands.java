package io.jenkins.plugins.preemptible.engine.testrun;

import io.jenkins.plugins.preemptible.engine.bench.Bench;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmCommand;
import java.io.PrintWriter;
import java.nio.charset.Charset;
import java.util.Arrays;
import java.util.List;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.MissingParameterException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.ParameterException;
import picocli.CommandLine.Spec;
import picocli.CommandLine.UnmatchedArgumentException;

/**
 * The verbs of {@code ./preempt} that need the tests' class path. The launcher has built it, and starts this.
 *
 * <p>Exit status: 0 when something passed and nothing failed, 1 otherwise, 2 for arguments that make no sense; those are
 * refused in one sentence, before anything is installed or run.
 */
@Command(name = "preempt")
public final class DeveloperCommands implements Runnable {

    private static final List<String> HELP = List.of("-h", "--help");

    @Spec
    private CommandSpec spec;

    private DeveloperCommands() {}

    public static void main(String[] args) throws Exception {
        PrintWriter out = new PrintWriter(System.out, true, Charset.defaultCharset());
        PrintWriter err = new PrintWriter(System.err, true, Charset.defaultCharset());
        Checkout checkout = Checkout.here();
        String verb = args.length == 0 ? "" : args[0];
        String option = args.length < 2 ? "" : args[1];
        boolean benchmarks = verb.equals("bench") && !option.equals("--queue");
        boolean suiteOfCriu = verb.equals("compat") && option.startsWith("-") && !HELP.contains(option);
        if (!benchmarks && !suiteOfCriu) {
            System.exit(execute(checkout, out, err, args));
        }
        if (!HELP.contains(option)) {
            checkout.setUp("--tests", err);
        }
        String[] rest = Arrays.copyOfRange(args, 1, args.length);
        if (benchmarks) {
            Bench.main(rest);
        } else {
            ZdtmCommand.main(rest);
        }
    }

    /** Runs a command other than {@link Bench} and {@link ZdtmCommand}, and returns its exit status. */
    static int execute(Checkout checkout, PrintWriter out, PrintWriter err, String... args) {
        Run run = new Run(checkout, out, err);
        CommandLine line = new CommandLine(new DeveloperCommands())
                .addSubcommand(new Verbs.Everyday(run))
                .addSubcommand(new Verbs.Soak(run))
                .addSubcommand(new Verbs.Fuzz(run))
                .addSubcommand(new Verbs.Compat(run))
                .addSubcommand(new QueueBench(run))
                .setOut(out)
                .setErr(err)
                .setParameterExceptionHandler((e, given) -> {
                    err.println("preempt: " + sentence(e));
                    return 2;
                })
                .setExecutionExceptionHandler((e, command, parsed) -> {
                    err.println("preempt: the tests could not be run: " + e + ".");
                    return 1;
                });
        line.getSubcommands()
                .values()
                .forEach(verb -> verb.getCommandSpec()
                        .addOption(OptionSpec.builder(HELP.toArray(String[]::new))
                                .usageHelp(true)
                                .description("Shows this.")
                                .build()));
        int status = line.execute(args);
        if (args.length > 1 && args[0].equals("compat") && HELP.contains(args[1])) {
            // With any option it is CRIU's own suite that is run.
            out.println();
            ZdtmCommand.usage(out);
        }
        return status;
    }

    @Override
    public void run() {
        throw new ParameterException(spec.commandLine(), "A command is missing; see 'preempt --help'.");
    }

    private static String sentence(ParameterException e) {
        CommandLine verb = e.getCommandLine();
        if (verb.getCommand() instanceof QueueBench) {
            return "'bench --queue' takes no more arguments than --most N, a whole number; see 'preempt bench --help'.";
        }
        if (e instanceof UnmatchedArgumentException more) {
            return "'" + verb.getCommandName() + "' " + takes(verb) + " '"
                    + more.getUnmatched().get(0) + "'; see '"
                    + verb.getCommandSpec().qualifiedName() + " --help'.";
        }
        if (e instanceof MissingParameterException missing) {
            return WholeNumber.refused(((OptionSpec) missing.getMissing().get(0)).longestName(), "");
        }
        if (e.getArgSpec() instanceof OptionSpec option && option.type() == Integer.class) {
            return WholeNumber.refused(option.longestName(), e.getValue());
        }
        return e.getMessage();
    }

    private static String takes(CommandLine verb) {
        return verb.getCommand() instanceof Verbs.Soak
                ? "takes --faults N, --moves N, --streams K and --seed S, but got"
                : "does not take";
    }
}
