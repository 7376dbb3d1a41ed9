package io.jenkins.plugins.preemptible.acceptance.faults;

import com.fasterxml.jackson.annotation.JsonAutoDetect;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Counts rounds, and writes what docs/reliability.md has of them.
 *
 * <ol>
 *   <li>Each round is one line of JSON in target/faults/rounds.jsonl, appended, so that a run that is cut off counts.
 *   <li>The tables are of all rounds in that file, and stand between two comments of the page.
 * </ol>
 */
final class FaultFigures {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path ROUNDS = Path.of("target", "faults", "rounds.jsonl");
    private static final Path PAGE = Path.of("docs", "reliability.md");
    private static final String BEGIN = "<!-- figures -->";
    private static final String END = "<!-- end of figures -->";

    private final long seed;

    FaultFigures(long seed) {
        this.seed = seed;
    }

    /** One line of the file; {@code loss} is null for a round in which nothing was lost. */
    @JsonAutoDetect(fieldVisibility = JsonAutoDetect.Visibility.ANY)
    record Line(
            long seed, int round, String fault, String moment, String state, boolean met, int lines, int repeated, int missing,
            long millis, String loss) {}

    void add(FaultRound round, RoundRun.Seen seen, String loss, Duration took) throws IOException {
        Line line = new Line(
                seed,
                round.number(),
                round.fault().name(),
                round.moment().name(),
                seen == null ? "" : seen.stateAtFault(),
                seen != null && seen.met(),
                seen == null ? 0 : seen.lines(),
                seen == null ? 0 : seen.repeatedLines(),
                seen == null ? 0 : seen.missingLines(),
                took.toMillis(),
                loss);
        System.out.println((loss == null ? "nothing lost: " : "LOST: ") + round + "; " + line);
        Files.createDirectories(ROUNDS.getParent());
        Files.writeString(
                ROUNDS, JSON.writeValueAsString(line) + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        if (Files.exists(PAGE)) {
            write(read());
        }
    }

    private static List<Line> read() throws IOException {
        List<Line> lines = new ArrayList<>();
        for (String text : Files.readAllLines(ROUNDS)) {
            lines.add(JSON.readValue(text, Line.class));
        }
        return lines;
    }

    private static void write(List<Line> rounds) throws IOException {
        String page = Files.readString(PAGE);
        int begin = page.indexOf(BEGIN);
        int end = page.indexOf(END);
        if (begin < 0 || end < begin) {
            return;
        }
        StringBuilder tables = new StringBuilder(BEGIN).append("\n\n");
        long lost = rounds.stream().filter(line -> line.loss != null).count();
        tables.append(rounds.size()).append(" rounds, ").append(2 * rounds.size()).append(" stages, lost or left behind in: ")
                .append(lost).append(".\n\n| Fault | Rounds | Lost |\n| --- | --- | --- |\n");
        for (Fault fault : Fault.values()) {
            List<Line> of = rounds.stream().filter(line -> line.fault.equals(fault.name())).toList();
            tables.append("| ").append(fault.words()).append(" | ").append(of.size()).append(" | ")
                    .append(of.stream().filter(line -> line.loss != null).count()).append(" |\n");
        }
        table(tables, "State of the stage when the fault came", rounds, Line::state);
        table(tables, "Waited for", rounds, Line::moment);
        int console = rounds.stream().mapToInt(Line::lines).sum();
        tables.append("\nOf ").append(console).append(" lines in build logs, ")
                .append(rounds.stream().mapToInt(Line::repeated).sum()).append(" stood there twice and ")
                .append(rounds.stream().mapToInt(Line::missing).sum()).append(" were missing.\n\n");
        Files.writeString(PAGE, page.substring(0, begin) + tables + page.substring(end));
    }

    private static void table(StringBuilder tables, String title, List<Line> rounds, Function<Line, String> key) {
        Map<String, Long> counts = new TreeMap<>();
        rounds.forEach(line -> counts.merge(key.apply(line).isEmpty() ? "unknown" : key.apply(line), 1L, Long::sum));
        tables.append("\n| ").append(title).append(" | Rounds |\n| --- | --- |\n");
        counts.forEach((name, count) -> tables.append("| ").append(name).append(" | ").append(count).append(" |\n"));
    }
}
