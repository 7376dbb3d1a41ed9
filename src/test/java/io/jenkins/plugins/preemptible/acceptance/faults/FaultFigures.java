package io.jenkins.plugins.preemptible.acceptance.faults;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;

/**
 * Counts rounds, and writes what docs/reliability.md has of them.
 *
 * <ol>
 *   <li>Each round is one line of JSON in docs/reliability-rounds.jsonl, appended, so that a run that is cut off counts.
 *   <li>The tables are of all rounds in that file, and stand between two comments of the page.
 *   <li>Who mends what lost a round writes that into its line, as {@code mended}: the commit's subject.
 * </ol>
 */
final class FaultFigures {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Path ROUNDS = Path.of("docs", "reliability-rounds.jsonl");
    static final Path PAGE = Path.of("docs", "reliability.md");
    private static final String BEGIN = "<!-- figures -->";
    private static final String END = "<!-- end of figures -->";

    private final long seed;
    private final String commit;

    FaultFigures(long seed) {
        this.seed = seed;
        HostTool.Answer described = HostTool.run(10, List.of("git", "rev-parse", "--short", "HEAD"));
        commit = described.ok() ? described.text().strip() : "unknown";
    }

    /**
     * One line of the file.
     *
     * @param commit what was tried
     * @param ended milliseconds since 1970, when the round was over
     * @param loss null for a round in which nothing was lost
     * @param mended what was changed since, so that this is not lost again; null otherwise
     */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    record Line(
            String commit,
            long seed,
            int round,
            long ended,
            long millis,
            String fault,
            String moment,
            String state,
            boolean met,
            int lines,
            int repeated,
            int missing,
            String loss,
            String mended) {}

    /** @param seen null for a lost round */
    void add(FaultRound round, String state, RoundRun.Seen seen, String loss, Duration took) throws IOException {
        Line line = new Line(
                commit,
                seed,
                round.number(),
                System.currentTimeMillis(),
                took.toMillis(),
                round.fault().name(),
                round.moment().name(),
                state,
                seen != null && seen.met(),
                seen == null ? 0 : seen.lines(),
                seen == null ? 0 : seen.repeatedLines(),
                seen == null ? 0 : seen.missingLines(),
                loss,
                null);
        System.out.println((loss == null ? "nothing lost: " : "LOST: ") + round + "; " + line);
        Files.writeString(
                ROUNDS, JSON.writeValueAsString(line) + "\n", StandardOpenOption.CREATE, StandardOpenOption.APPEND);
        if (Files.exists(PAGE)) {
            Files.writeString(PAGE, withFigures(Files.readString(PAGE), read()));
        }
    }

    /** All rounds that are kept, by the time they ended. */
    static List<Line> read() throws IOException {
        List<Line> lines = new ArrayList<>();
        for (String text : Files.readAllLines(ROUNDS)) {
            lines.add(JSON.readValue(text, Line.class));
        }
        lines.sort(Comparator.comparingLong(Line::ended));
        return lines;
    }

    /** The page with the figures of these rounds between its two comments; as it is when it has none. */
    static String withFigures(String page, List<Line> rounds) {
        int begin = page.indexOf(BEGIN);
        int end = page.indexOf(END);
        if (begin < 0 || end < begin) {
            return page;
        }
        StringBuilder tables = new StringBuilder(BEGIN).append("\n\n");
        long lost = rounds.stream().filter(line -> line.loss != null).count();
        int last = rounds.size();
        while (last > 0 && rounds.get(last - 1).loss == null) {
            last--;
        }
        tables.append(rounds.size())
                .append(" rounds with two stages each: ")
                .append(lost)
                .append(" lost, 0 of the last ")
                .append(rounds.size() - last)
                .append(".\n");
        if (lost > 0) {
            table(
                    tables,
                    "Why rounds were lost, and what was changed since",
                    rounds.stream().filter(line -> line.loss != null).toList(),
                    line -> line.mended == null ? "not known, nothing yet" : line.mended);
        }
        tables.append("\n| Fault | Rounds | Lost |\n| --- | --- | --- |\n");
        for (Fault fault : Fault.values()) {
            List<Line> of = rounds.stream()
                    .filter(line -> line.fault.equals(fault.name()))
                    .toList();
            tables.append("| ")
                    .append(fault.words())
                    .append(" | ")
                    .append(of.size())
                    .append(" | ")
                    .append(of.stream().filter(line -> line.loss != null).count())
                    .append(" |\n");
        }
        table(tables, "State of the stage when the fault came", rounds, Line::state);
        int console = rounds.stream().mapToInt(Line::lines).sum();
        tables.append("\nOf ")
                .append(console)
                .append(" lines in build logs, ")
                .append(rounds.stream().mapToInt(Line::repeated).sum())
                .append(" stood there twice and ")
                .append(rounds.stream().mapToInt(Line::missing).sum())
                .append(" were missing.\n\n");
        return page.substring(0, begin) + tables + page.substring(end);
    }

    private static void table(StringBuilder tables, String title, List<Line> rounds, Function<Line, String> key) {
        Map<String, Long> counts = new TreeMap<>();
        rounds.forEach(line -> counts.merge(
                key.apply(line).isEmpty() ? "lost before the fault came, or not known" : key.apply(line),
                1L,
                Long::sum));
        tables.append("\n| ").append(title).append(" | Rounds |\n| --- | --- |\n");
        counts.forEach((name, count) ->
                tables.append("| ").append(name).append(" | ").append(count).append(" |\n"));
    }
}
