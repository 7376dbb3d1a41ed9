package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.engine.simulation.Comparison;
import io.jenkins.plugins.preemptible.overview.parts.ComparisonTable;
import io.jenkins.plugins.preemptible.overview.parts.DayPlot;
import io.jenkins.plugins.preemptible.overview.parts.FigureTable;
import io.jenkins.plugins.preemptible.overview.parts.WaitPlot;
import io.jenkins.plugins.preemptible.simulation.SettingsSimulation;
import java.text.DateFormat;
import java.util.Date;
import java.util.List;
import jenkins.model.Jenkins;

/**
 * One simulation: its progress while it runs, then its figures.
 *
 * <p>Made for each request. The page is loaded anew every few seconds while the simulation runs, by the browser itself.
 */
public final class SimulationResultPage extends OverviewPage {

    private final SettingsSimulation simulation;

    SimulationResultPage(SettingsSimulation simulation) {
        this.simulation = simulation;
    }

    @Override
    String id() {
        return SimulationPage.ID;
    }

    public SettingsSimulation getSimulation() {
        return simulation;
    }

    /** What was simulated, when and by whom, as one line. */
    public String getTitle() {
        return Messages.SimulationResultPage_Title(
                DateFormat.getDateTimeInstance(DateFormat.MEDIUM, DateFormat.SHORT)
                        .format(new Date(simulation.getStartedMillis())),
                simulation.getDays());
    }

    /** What the settings were, in a few words. */
    public String getSettings() {
        int changes = simulation.getChanges().size();
        return changes == 0 ? Messages.SimulationResultPage_Saved() : Messages.SimulationResultPage_Changed(changes);
    }

    /** How far it is. */
    public String getState() {
        if (simulation.isRunning()) {
            return Messages.SimulationResultPage_Running(
                    simulation.getDoing(), simulation.getDone(), simulation.getSteps());
        }
        return simulation.getFailure() == null
                ? Messages.SimulationResultPage_Done()
                : Messages.SimulationResultPage_NoResult();
    }

    /** Its whole address, to be shared; null where Jenkins does not know its own. */
    @CheckForNull
    public String getShared() {
        String root = Jenkins.get().getRootUrl();
        return root == null ? null : root + simulation.getUrl();
    }

    /** All figures; there is one only when {@link SettingsSimulation#getResult} is. */
    public List<FigureTable> getTables() {
        return List.of(ComparisonTable.waits(comparison()), ComparisonTable.executors(comparison()));
    }

    /** One a class of builds. */
    public List<WaitPlot> getPlots() {
        return WaitPlot.of(comparison());
    }

    public DayPlot getDayPlot() {
        return new DayPlot(comparison().days());
    }

    private Comparison comparison() {
        SettingsSimulation.Result result = simulation.getResult();
        if (result == null) {
            throw new IllegalStateException("there is no result yet");
        }
        return result.comparison();
    }
}
