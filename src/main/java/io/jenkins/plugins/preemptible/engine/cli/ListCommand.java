package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.stage.StageStatus;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;

/**
 * Prints the stages of this home, one a line.
 *
 * <ol>
 *   <li>Columns are as wide as their widest cell.
 *   <li>The last column is the image of a suspended stage, else the file of its output.
 *   <li>A missing value is a hyphen, so that every line has the same number of words, names apart.
 * </ol>
 */
@Command(name = "list", description = "Lists the stages of this host, with their states.")
final class ListCommand implements Callable<Integer> {

    private static final List<String> HEAD =
            List.of("ID", "STATE", "PID", "EXIT", "SUSPENSIONS", "STARTED", "IMAGE OR OUTPUT");

    private final Context context;

    ListCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        List<List<String>> rows = new ArrayList<>();
        rows.add(HEAD);
        context.engine().list().forEach(stage -> rows.add(row(stage)));
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int column = 0; column < row.size(); column++) {
                int at = column;
                int width = rows.stream().mapToInt(each -> each.get(at).length()).max().orElse(0);
                String cell = row.get(column);
                line.append(cell).append(" ".repeat(width - cell.length() + 2));
            }
            context.out().println(line.toString().stripTrailing());
        }
        return ExitStatus.OK;
    }

    private static List<String> row(StageStatus stage) {
        return List.of(
                stage.id().value(),
                stage.state().name(),
                stage.initPid() > 0 ? Long.toString(stage.initPid()) : "-",
                orHyphen(stage.exitCode()),
                Integer.toString(stage.suspensions()),
                stage.startedAt() == null
                        ? "-"
                        : stage.startedAt().truncatedTo(ChronoUnit.SECONDS).toString(),
                orHyphen(stage.archive() != null ? stage.archive() : stage.output()));
    }

    private static String orHyphen(Object value) {
        return value == null ? "-" : value.toString();
    }
}
