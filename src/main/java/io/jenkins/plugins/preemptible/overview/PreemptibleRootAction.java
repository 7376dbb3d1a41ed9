package io.jenkins.plugins.preemptible.overview;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Api;
import hudson.model.RootAction;
import hudson.util.HttpResponses;
import io.jenkins.plugins.preemptible.history.DailyStatistics;
import io.jenkins.plugins.preemptible.history.DayCounts;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.manual.Answer;
import io.jenkins.plugins.preemptible.manual.SwitchVerbs;
import io.jenkins.plugins.preemptible.overview.SchedulerState.AgentState;
import io.jenkins.plugins.preemptible.overview.SchedulerState.LimitsState;
import io.jenkins.plugins.preemptible.overview.SchedulerState.RunningState;
import io.jenkins.plugins.preemptible.overview.SchedulerState.SuspendedState;
import io.jenkins.plugins.preemptible.overview.SchedulerState.WaitingState;
import io.jenkins.plugins.preemptible.overview.parts.StatePage;
import java.util.List;
import java.util.Optional;
import jenkins.model.Jenkins;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.stapler.HttpResponse;
import org.kohsuke.stapler.StaplerProxy;
import org.kohsuke.stapler.StaplerRequest2;
import org.kohsuke.stapler.WebMethod;
import org.kohsuke.stapler.export.Exported;
import org.kohsuke.stapler.export.ExportedBean;
import org.kohsuke.stapler.verb.POST;

/**
 * Everything that is suspended, runs or waits: pages for people below {@code preemptible/}, and the whole state for
 * programs at {@code preemptible/api/json}, {@code api/xml}, {@code tree=} and all.
 *
 * <ol>
 *   <li>{@link Lists} are the pages; the address alone shows the first of them.
 *   <li>Needs the permission to read Jenkins; what is of a job that the user may not read is left out.
 *   <li>Reads what is in memory; loads no build and asks no agent.
 *   <li>Has the first {@value StatePage#DEFAULT} of each list, and the others by {@link StatePage}; the totals say how many
 *       there are.
 * </ol>
 */
@Extension
@ExportedBean
@Restricted(NoExternalUse.class) // for its addresses only
public final class PreemptibleRootAction implements RootAction, StaplerProxy {

    static final String URL = "preemptible";

    private static final int STATISTICS_DAYS = 30;

    private static final List<String> ADDRESSES = List.of(
            "suspended",
            "running",
            "waiting",
            "agents",
            StatisticsPage.ID,
            SimulationPage.ID,
            "confirm",
            "carry-out",
            "api/json",
            "api/xml",
            "switch-off",
            "switch-on");

    /** Jenkins' own front page has a link while there is something to see. */
    @Override
    public String getIconFileName() {
        return Jenkins.get().hasPermission(Jenkins.READ) && !StageRegistry.get().isEmpty()
                ? "symbol-suspended plugin-preemptible"
                : null;
    }

    @Override
    public String getDisplayName() {
        return Messages.PreemptibleRootAction_DisplayName();
    }

    @Override
    public String getUrlName() {
        return URL;
    }

    /** Everything below needs this much. */
    @Override
    public Object getTarget() {
        Jenkins.get().checkPermission(Jenkins.READ);
        return this;
    }

    /** What the address alone shows. */
    public ListPage getPage() {
        return new ListPage(Lists.SUSPENDED);
    }

    /**
     * The page of a list, of what the days brought, or of simulations.
     *
     * @return null when there is no such page
     */
    @CheckForNull
    public Object getDynamic(String name) {
        return switch (name) {
            case StatisticsPage.ID -> new StatisticsPage();
            case SimulationPage.ID -> new SimulationPage();
            default -> Lists.of(name).map(ListPage::new).orElse(null);
        };
    }

    /** Asks whether that is meant. */
    public HttpResponse doConfirm(StaplerRequest2 request) {
        return Confirmation.of(request)
                .<HttpResponse>map(asked -> HttpResponses.forwardToView(asked, "index"))
                .orElseGet(() -> Answer.toRequest(URL, Confirmation::gone));
    }

    /** Does what was asked for. */
    @POST
    @WebMethod(name = "carry-out")
    public HttpResponse doCarryOut(StaplerRequest2 request) {
        Optional<? extends Confirmation> asked = Confirmation.of(request);
        return Answer.toButton(
                asked.map(Confirmation::getPage).orElse(Lists.SUSPENDED.page()),
                () -> asked.map(Confirmation::carryOut).orElseGet(Confirmation::gone));
    }

    public Api getApi() {
        // Refuses a request that is wrong before anything is written.
        StatePage.asked();
        return new Api(this);
    }

    /** Suspends no more stages, and resumes all suspended ones. */
    @POST
    @WebMethod(name = "switch-off")
    public HttpResponse doSwitchOff() {
        return Answer.toRequest("manage/configure", SwitchVerbs::off);
    }

    /** Undoes that. */
    @POST
    @WebMethod(name = "switch-on")
    public HttpResponse doSwitchOn() {
        return Answer.toRequest("manage/configure", SwitchVerbs::on);
    }

    /** Any other address here: does nothing, and says so. */
    public HttpResponse doDynamic(StaplerRequest2 request) {
        return Answer.toRequest("", () -> Answer.toOther(request, ADDRESSES));
    }

    /** What each of the last days brought, the newest first. */
    @Exported
    public List<DayCounts> getStatistics() {
        return DailyStatistics.get().days(STATISTICS_DAYS);
    }

    @Exported
    public LimitsState getLimits() {
        return SchedulerState.limits();
    }

    @Exported
    public List<AgentState> getAgents() {
        return SchedulerState.agents();
    }

    @Exported
    public List<RunningState> getRunning() {
        return SchedulerState.running(StatePage.asked());
    }

    @Exported
    public int getRunningTotal() {
        return SchedulerState.count(false);
    }

    @Exported
    public List<SuspendedState> getSuspended() {
        return SchedulerState.suspended(StatePage.asked());
    }

    @Exported
    public int getSuspendedTotal() {
        return SchedulerState.count(true);
    }

    @Exported
    public List<WaitingState> getWaiting() {
        return SchedulerState.waiting(StatePage.asked().of(SchedulerState.buildable()));
    }

    @Exported
    public int getWaitingTotal() {
        return SchedulerState.buildable().size();
    }
}
