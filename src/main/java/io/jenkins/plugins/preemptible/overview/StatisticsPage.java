package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Functions;
import hudson.Util;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.move.MoveObstacle;
import io.jenkins.plugins.preemptible.history.DailyStatistics;
import io.jenkins.plugins.preemptible.history.DayCounts;
import io.jenkins.plugins.preemptible.simulation.Simulations;
import io.jenkins.plugins.preemptible.view.ShownSentence;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Stream;
import jenkins.model.Jenkins;

/** What the suspensions of the last days brought and cost, as a page. Made for each request. */
public final class StatisticsPage extends OverviewPage {

    static final String ID = "statistics";

    private static final int WEEK = 7;
    private static final int MONTH = 30;

    /** One line: a day, or several. */
    public record Line(
            String period,
            long suspensions,
            String suspended,
            String preemptors,
            String waited,
            String cost,
            String images) {}

    @Override
    String id() {
        return ID;
    }

    /** The last week and month as one line each, then day by day. */
    public List<Line> getLines() {
        DailyStatistics statistics = DailyStatistics.get();
        List<Line> lines = new java.util.ArrayList<>();
        lines.add(line(Messages.StatisticsPage_Days(WEEK), statistics.sum(WEEK)));
        lines.add(line(Messages.StatisticsPage_Days(MONTH), statistics.sum(MONTH)));
        statistics.days(MONTH).forEach(day -> lines.add(line(day.getDay(), day)));
        return lines;
    }

    private static Line line(String period, DayCounts counts) {
        long preemptors = counts.getPreemptors();
        return new Line(
                period,
                counts.getSuspensions(),
                Util.getTimeSpanString(counts.getSuspendedMillis()),
                String.valueOf(preemptors),
                preemptors == 0 ? "" : Util.getTimeSpanString(counts.getPreemptorsWaitedMillis() / preemptors),
                Util.getTimeSpanString(counts.getCostMillis()),
                counts.getSealed() == 0
                        ? ""
                        : Messages.StatisticsPage_Images(
                                counts.getSealed(), Functions.humanReadableByteSize(counts.getSealedBytes())));
    }

    /** The newest simulation of the settings that were saved when it ran; null when none is kept. */
    @CheckForNull
    public SimulationResultPage getSimulated() {
        return Simulations.get()
                .newestOfSavedSettings()
                .map(SimulationResultPage::new)
                .orElse(null);
    }

    /** Where one is started. */
    public SimulationPage getSimulations() {
        return new SimulationPage();
    }

    /** Whether the looking user may simulate, and see whole simulations. */
    public boolean isMaySimulate() {
        return Jenkins.get().hasPermission(Jenkins.ADMINISTER);
    }

    /** Of the last month, by phase and reason in words. */
    public Map<String, Long> getRefusals() {
        Map<String, Long> refusals = new TreeMap<>();
        DailyStatistics.get()
                .sum(MONTH)
                .getRefusals()
                .forEach((counted, times) -> refusals.put(refusal(counted), times));
        return refusals;
    }

    /** @param counted phase and reason, with a blank between them */
    private static String refusal(String counted) {
        String[] words = counted.split(" ", 2);
        String reason = words.length < 2 ? "" : words[1];
        Stream<String> obstacle = Stream.of(MoveObstacle.values())
                .filter(known -> words[0].equals("MOVE") && known.name().equals(reason))
                .map(known -> withoutStop(known.sentence()));
        Stream<String> failure = Stream.of(FailureReason.values())
                .filter(known -> known.name().equals(reason))
                .map(ShownSentence::of);
        String sentence = Stream.concat(obstacle, failure).findFirst().orElseGet(Messages::StatisticsPage_OtherReason);
        return Messages.StatisticsPage_Refusal(phase(words[0]), sentence);
    }

    private static String withoutStop(String sentence) {
        return sentence.substring(0, sentence.length() - 1);
    }

    private static String phase(String name) {
        return switch (name) {
            case "SUSPEND" -> Messages.StatisticsPage_PhaseSuspend();
            case "SEAL" -> Messages.StatisticsPage_PhaseSeal();
            case "RESUME" -> Messages.StatisticsPage_PhaseResume();
            case "MOVE" -> Messages.StatisticsPage_PhaseMove();
            default -> name;
        };
    }
}
