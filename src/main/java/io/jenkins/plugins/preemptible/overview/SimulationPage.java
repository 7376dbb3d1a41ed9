package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Util;
import hudson.util.FormValidation;
import io.jenkins.plugins.preemptible.manual.Answer;
import io.jenkins.plugins.preemptible.simulation.SettingsSimulation;
import io.jenkins.plugins.preemptible.simulation.Simulations;
import jakarta.servlet.http.HttpServletResponse;
import java.util.List;
import java.util.Optional;
import jenkins.model.Jenkins;
import org.kohsuke.stapler.HttpResponse;
import org.kohsuke.stapler.QueryParameter;
import org.kohsuke.stapler.StaplerProxy;
import org.kohsuke.stapler.interceptor.RequirePOST;

/**
 * The simulations that are kept, and a form that simulates the saved settings.
 *
 * <ol>
 *   <li>For administrators only, as the configuration page: so is everything below.
 *   <li>{@code simulation/ID/} is the page of one of them, and can be shared.
 *   <li>{@code simulation/start} starts one, by POST; without JavaScript too.
 * </ol>
 */
public final class SimulationPage extends OverviewPage implements StaplerProxy {

    static final String ID = "simulation";

    @Override
    String id() {
        return ID;
    }

    @Override
    public Object getTarget() {
        Jenkins.get().checkPermission(Jenkins.ADMINISTER);
        return this;
    }

    /** The newest first. */
    public List<SimulationResultPage> getKept() {
        return Simulations.get().all().stream().map(SimulationResultPage::new).toList();
    }

    /**
     * The page of one.
     *
     * @return null when it is not kept, or never was
     */
    @CheckForNull
    public SimulationResultPage getDynamic(String id) {
        return Simulations.get().find(id).map(SimulationResultPage::new).orElse(null);
    }

    /** Simulates the saved settings, and leads to its page. */
    @RequirePOST
    public HttpResponse doStart(@CheckForNull @QueryParameter String days) {
        Jenkins.get().checkPermission(Jenkins.ADMINISTER);
        FormValidation checked = Simulations.get().checkDays(Util.fixNull(days));
        if (checked.kind != FormValidation.Kind.OK) {
            return Answer.toRequest("", () -> Answer.refused(HttpServletResponse.SC_BAD_REQUEST, checked.getMessage()));
        }
        Optional<SettingsSimulation> started = Simulations.get().startSaved(Integer.parseInt(days.trim()));
        return Answer.toRequest(
                started.map(SettingsSimulation::getUrl).orElse(""),
                () -> started.map(SettingsSimulation::getUrl)
                        .map(url -> Answer.done(Messages.SimulationPage_Started(url)))
                        .orElseGet(
                                () -> Answer.refused(HttpServletResponse.SC_CONFLICT, Messages.SimulationPage_Busy())));
    }
}
