package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;

/**
 * Prints the stages of this home, one a line.
 *
 * <ol>
 *   <li>Columns are as wide as their widest cell.
 *   <li>FROM is what a resume here would use: frozen, local-image or archive. The last column is the image
 *       of a suspended stage, else the file of its output.
 *   <li>A missing value is a hyphen, so that every line has the same number of words, names apart.
 * </ol>
 */
@Command(
        name = "list",
        description =
                "Lists the stages of this host, with their states and what a suspended one would be resumed from.")
final class ListCommand implements Callable<Integer> {

    private static final List<String> HEAD =
            List.of("ID", "STATE", "PID", "EXIT", "SUSPENSIONS", "FROM", "STARTED", "IMAGE OR OUTPUT");

    private final Context context;

    @Option(names = "--json", description = "One JSON object.")
    private boolean json;

    ListCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() {
        if (json) {
            context.printJson(Map.of(
                    "stages",
                    context.engine().list().stream().map(ListCommand::fields).toList()));
            return ExitStatus.OK;
        }
        List<List<String>> rows = new ArrayList<>();
        rows.add(HEAD);
        context.engine().list().forEach(stage -> rows.add(row(stage)));
        for (List<String> row : rows) {
            StringBuilder line = new StringBuilder();
            for (int column = 0; column < row.size(); column++) {
                int at = column;
                int width = rows.stream()
                        .mapToInt(each -> each.get(at).length())
                        .max()
                        .orElse(0);
                String cell = row.get(column);
                line.append(cell).append(" ".repeat(width - cell.length() + 2));
            }
            context.out().println(line.toString().stripTrailing());
        }
        return ExitStatus.OK;
    }

    private static Map<String, Object> fields(StageStatus stage) {
        Map<String, Object> fields = new LinkedHashMap<>();
        fields.put("id", stage.id().value());
        fields.put("name", stage.name());
        fields.put("state", stage.state());
        fields.put("pid", stage.initPid() > 0 ? stage.initPid() : null);
        fields.put("exit_code", stage.exitCode());
        fields.put("suspensions", stage.suspensions());
        fields.put("tier", stage.tier());
        fields.put("started_at", Objects.toString(stage.startedAt(), null));
        fields.put("dir", Objects.toString(stage.workDir(), null));
        fields.put("image", Objects.toString(stage.archive(), null));
        fields.put("output", Objects.toString(stage.output(), null));
        return fields;
    }

    private static List<String> row(StageStatus stage) {
        return List.of(
                stage.id().value(),
                stage.state().name(),
                stage.initPid() > 0 ? Long.toString(stage.initPid()) : "-",
                orHyphen(stage.exitCode()),
                Integer.toString(stage.suspensions()),
                stage.tier() == null
                        ? "-"
                        : stage.tier().name().toLowerCase(Locale.ROOT).replace('_', '-'),
                stage.startedAt() == null
                        ? "-"
                        : stage.startedAt().truncatedTo(ChronoUnit.SECONDS).toString(),
                orHyphen(stage.archive() != null ? stage.archive() : stage.output()));
    }

    private static String orHyphen(Object value) {
        return value == null ? "-" : value.toString();
    }
}
