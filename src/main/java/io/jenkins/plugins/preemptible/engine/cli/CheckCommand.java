package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.host.HostReport;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Says whether this host can suspend stages.
 *
 * <ol>
 *   <li>The engine tries each thing that suspending needs.
 *   <li>For each that is missing, the one command that mends it is printed under it.
 *   <li>The exit status is 0 when nothing is missing, else 1.
 * </ol>
 */
@Command(
        name = "check",
        description = "Tries whether this host can suspend stages, and says what mends it where it cannot.")
final class CheckCommand implements Callable<Integer> {

    private final Context context;

    @Option(names = "--json", description = "One JSON object.")
    private boolean json;

    CheckCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        HostReport report = context.engine().check();
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
}
