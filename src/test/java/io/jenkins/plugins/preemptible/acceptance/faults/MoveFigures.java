package io.jenkins.plugins.preemptible.acceptance.faults;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * Counts rounds with moves, and writes what docs/moving-reliability.md has of them. For any thread.
 *
 * <p>Who mends what lost a round writes that into its line of docs/moving-rounds.jsonl, as {@code mended}: what it was, and the
 * commit's subject. One that was lost by the rig itself counts as {@code RIG}.
 */
final class MoveFigures {

    static final KeptRounds<Line> ROUNDS =
            new KeptRounds<>(Path.of("docs", "moving-rounds.jsonl"), Line.class, Line::ended);
    static final Path PAGE = Path.of("docs", "moving-reliability.md");
    private static final List<String> VERDICTS = List.of("WHOLE", "TOLD", "LOST", "RIG");

    private final long seed;
    private final String commit = KeptRounds.commit();

    MoveFigures(long seed) {
        this.seed = seed;
    }

    /**
     * One line of the file.
     *
     * @param commit what was tried
     * @param ended milliseconds since 1970, when the round was over
     * @param state of the stage when the fault came
     * @param met whether that was the moment that was drawn
     * @param moves how often the stage went to another agent
     * @param lines of its output
     * @param verdict a {@link MoveVerdict.Kind}, or RIG
     * @param why null for a stage that is whole
     * @param mended what was changed since; null where nothing was
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
            boolean checkpointed,
            int moves,
            int lines,
            String verdict,
            String why,
            String mended) {}

    synchronized void add(MoveRound round, MoveRun run, MoveVerdict verdict, Duration took) throws IOException {
        Line line = new Line(
                commit,
                seed,
                round.number(),
                System.currentTimeMillis(),
                took.toMillis(),
                round.fault().name(),
                round.moment().name(),
                run.stateAtFault(),
                run.met(),
                round.checkpointed(),
                run.moves(),
                run.lines(),
                verdict.kind().name(),
                verdict.why().isEmpty() ? null : verdict.why(),
                null);
        System.out.println(verdict.kind() + ": " + round + "; " + run.phases() + line);
        ROUNDS.add(line);
        if (Files.exists(PAGE)) {
            Files.writeString(PAGE, withFigures(Files.readString(PAGE), ROUNDS.read()));
        }
    }

    /** The page with the figures of these rounds between its two comments; as it is when it has none. */
    static String withFigures(String page, List<Line> rounds) {
        int last = rounds.size();
        while (last > 0 && !rounds.get(last - 1).verdict.equals("LOST")) {
            last--;
        }
        StringBuilder text = new StringBuilder();
        text.append(rounds.size())
                .append(" rounds: ")
                .append(count(rounds, "LOST"))
                .append(" lost, 0 of the last ")
                .append(rounds.size() - last)
                .append(". ")
                .append(rounds.stream().mapToInt(Line::moves).sum())
                .append(" moves, ")
                .append(rounds.stream().mapToInt(Line::lines).sum())
                .append(" lines of output.\n");
        List<Line> failed = rounds.stream()
                .filter(line -> line.verdict.equals("LOST") || line.verdict.equals("RIG"))
                .toList();
        if (!failed.isEmpty()) {
            FigureTables.counts(
                    text,
                    "Why rounds failed, and what was changed since",
                    failed,
                    line -> line.mended == null ? "not known, nothing yet" : line.mended);
        }
        Map<String, String> words = new TreeMap<>();
        Stream.of(MoveFault.values()).forEach(fault -> words.put(fault.name(), fault.words()));
        verdicts(text, "Fault", rounds, line -> words.getOrDefault(line.fault, line.fault));
        verdicts(text, "State of the stage when the fault came", rounds, Line::state);
        return FigureTables.with(page, text.append("\n"));
    }

    private static void verdicts(StringBuilder text, String title, List<Line> rounds, Function<Line, String> key) {
        Map<String, List<Line>> groups = new TreeMap<>();
        rounds.forEach(line -> groups.computeIfAbsent(
                        key.apply(line).isEmpty() ? "failed before the fault came" : key.apply(line),
                        name -> new ArrayList<>())
                .add(line));
        text.append("\n| ")
                .append(title)
                .append(" | Rounds | Whole | Nothing sealed, and told | Lost | Failed by the rig |\n"
                        + "| --- | --- | --- | --- | --- | --- |\n");
        groups.forEach((name, group) -> {
            text.append("| ").append(name).append(" | ").append(group.size());
            VERDICTS.forEach(verdict -> text.append(" | ").append(count(group, verdict)));
            text.append(" |\n");
        });
    }

    private static long count(List<Line> rounds, String verdict) {
        return rounds.stream().filter(line -> line.verdict.equals(verdict)).count();
    }
}
