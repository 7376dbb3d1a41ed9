package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.check.HostReport;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.preflight.PreflightReport;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Says whether this host can suspend stages, or whether a stage could be suspended now.
 *
 * <ol>
 *   <li>Without an id the engine tries each thing that suspending needs; for each that is missing, the one command that
 *       mends it is printed under it, and the exit status is 1.
 *   <li>With an id the obstacles of that stage are listed: what, which process, why, what would help.
 *       The stage is not stopped for it. The exit status is 5 when there is anything.
 *   <li>Otherwise the exit status is 0.
 * </ol>
 */
@Command(
        name = "check",
        description = {
            "Tries whether this host can suspend stages, and says what mends it where it cannot.",
            "With the id of a running stage: says what would stop its suspension, without stopping the stage."
        })
final class CheckCommand implements Callable<Integer> {

    private static final int LONGEST = 120;

    private final Context context;

    @Parameters(paramLabel = "ID", arity = "0..1", description = "A running stage's id.")
    private StageId id;

    @Option(names = "--json", description = "One JSON object.")
    private boolean json;

    CheckCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        return id == null
                ? host(context.engine().check())
                : stage(context.engine().preflight(id));
    }

    private int host(HostReport report) {
        if (json) {
            Map<String, Object> object = new LinkedHashMap<>();
            object.put("ok", report.ok());
            object.put("items", report.items());
            context.printJson(object);
        } else {
            for (HostReport.Item item : report.items()) {
                context.out().printf("%-8s %-14s %s%n", item.ok() ? "ok" : "missing", item.name(), item.detail());
                if (!item.ok()) {
                    context.out().printf("%-8s %-14s -> %s%n", "", "", item.remedy());
                }
            }
            context.out()
                    .println(report.ok() ? "This host can suspend stages." : "This host cannot suspend stages yet.");
        }
        return report.ok() ? ExitStatus.OK : ExitStatus.FAILED;
    }

    private int stage(PreflightReport report) {
        if (json) {
            Map<String, Object> object = new LinkedHashMap<>();
            object.put("id", id.value());
            object.put("ok", report.ok());
            object.put(
                    "leaks", report.obstacles().stream().map(CheckCommand::json).toList());
            object.put("options", report.options());
            context.printJson(object);
        } else if (report.ok()) {
            context.out().println("Nothing ties the stage to the outside: it can be suspended.");
        } else {
            for (Obstacle obstacle : report.obstacles()) {
                print(obstacle);
            }
            context.out()
                    .println(
                            report.lasting().isEmpty()
                                    ? "The stage cannot be suspended now, but perhaps later."
                                    : "The stage cannot be suspended while these processes run.");
        }
        return report.ok() ? ExitStatus.OK : ExitStatus.TIED;
    }

    private void print(Obstacle obstacle) {
        String who = obstacle.pid() == 0 ? "the stage" : obstacle.pid() + " " + commandLine(obstacle);
        context.out().println(printable(who));
        context.out().println("  what  " + printable(obstacle.what()));
        context.out().println("  why   " + obstacle.reason().sentence() + ".");
        context.out().println("  help  " + obstacle.reason().remedy() + ".");
    }

    private static Map<String, Object> json(Obstacle obstacle) {
        Map<String, Object> object = new LinkedHashMap<>();
        object.put("reason", obstacle.reason());
        object.put("passing", obstacle.reason().passing());
        object.put("pid", obstacle.pid());
        object.put("command", commandLine(obstacle));
        object.put("what", obstacle.what());
        object.put("sentence", obstacle.reason().sentence());
        object.put("remedy", obstacle.reason().remedy());
        return object;
    }

    // The engine tells short names only, since its answers leave the host; this one does not.
    private static String commandLine(Obstacle obstacle) {
        String line = obstacle.pid() == 0 ? "" : Proc.commandLine(obstacle.pid());
        return line.isBlank() ? obstacle.command() : PlainText.of(line, LONGEST);
    }

    // Command lines and paths are the stage's: they must not drive the reader's terminal.
    private static String printable(String text) {
        return text.replaceAll("\\p{Cntrl}", "?");
    }
}
