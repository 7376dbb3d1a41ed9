package io.jenkins.plugins.preemptible.acceptance.faults;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

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

    static final KeptRounds<Line> ROUNDS =
            new KeptRounds<>(Path.of("docs", "reliability-rounds.jsonl"), Line.class, Line::ended);
    static final Path PAGE = Path.of("docs", "reliability.md");

    private final long seed;
    private final String commit = KeptRounds.commit();

    FaultFigures(long seed) {
        this.seed = seed;
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
        ROUNDS.add(line);
        if (Files.exists(PAGE)) {
            Files.writeString(PAGE, withFigures(Files.readString(PAGE), ROUNDS.read()));
        }
    }

    /** The page with the figures of these rounds between its two comments; as it is when it has none. */
    static String withFigures(String page, List<Line> rounds) {
        StringBuilder tables = new StringBuilder();
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
            FigureTables.counts(
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
        FigureTables.counts(tables, "State of the stage when the fault came", rounds, Line::state);
        int console = rounds.stream().mapToInt(Line::lines).sum();
        tables.append("\nOf ")
                .append(console)
                .append(" lines in build logs, ")
                .append(rounds.stream().mapToInt(Line::repeated).sum())
                .append(" stood there twice and ")
                .append(rounds.stream().mapToInt(Line::missing).sum())
                .append(" were missing.\n\n");
        return FigureTables.with(page, tables);
    }
}
