package io.jenkins.plugins.preemptible.hand;

import hudson.Extension;
import hudson.model.Api;
import hudson.model.InvisibleAction;
import hudson.model.RootAction;
import io.jenkins.plugins.preemptible.hand.SchedulerState.AgentState;
import io.jenkins.plugins.preemptible.hand.SchedulerState.LimitsState;
import io.jenkins.plugins.preemptible.hand.SchedulerState.RunningState;
import io.jenkins.plugins.preemptible.hand.SchedulerState.SuspendedState;
import io.jenkins.plugins.preemptible.hand.SchedulerState.WaitingState;
import java.util.List;
import jenkins.model.Jenkins;
import org.kohsuke.accmod.Restricted;
import org.kohsuke.accmod.restrictions.NoExternalUse;
import org.kohsuke.stapler.HttpResponse;
import org.kohsuke.stapler.WebMethod;
import org.kohsuke.stapler.StaplerRequest2;
import org.kohsuke.stapler.verb.POST;
import org.kohsuke.stapler.export.Exported;
import org.kohsuke.stapler.export.ExportedBean;

/**
 * The whole state, to be read by programs: {@code …/preemptible/api/json}, {@code api/xml}, {@code tree=} and all.
 *
 * <ol>
 *   <li>Has no page of its own and no link.
 *   <li>Needs the permission to read Jenkins; what is of a job that the user may not read is left out.
 *   <li>Reads what is in memory; loads no build and asks no agent.
 *   <li>Has the first {@value StatePage#DEFAULT} of each list, and the others by {@link StatePage}; the totals say how many
 *       there are.
 * </ol>
 */
@Extension
@ExportedBean
@Restricted(NoExternalUse.class) // for its addresses only
public final class PreemptibleRootAction extends InvisibleAction implements RootAction {

    private static final List<String> ADDRESSES = List.of("api/json", "api/xml", "switch-off", "switch-on");

    @Override
    public String getUrlName() {
        return "preemptible";
    }

    public Api getApi() {
        Jenkins.get().checkPermission(Jenkins.READ);
        // Refuses a request that is wrong before anything is written.
        StatePage.asked();
        return new Api(this);
    }

    /** Has nothing suspended any more, and lets all suspended stages go on. */
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
