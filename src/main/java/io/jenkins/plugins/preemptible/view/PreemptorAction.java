package io.jenkins.plugins.preemptible.view;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Util;
import hudson.model.InvisibleAction;
import java.util.Objects;
import org.kohsuke.stapler.export.Exported;
import org.kohsuke.stapler.export.ExportedBean;

/**
 * Tells of an item of the queue, and of the build that it became, whom it preempted, why, and how long that took.
 *
 * <ol>
 *   <li>It is put on the queue's item when a stage is chosen to make room for it; of a freestyle job's item it gets
 *       onto the build by itself, a Pipeline's build is given it.
 *   <li>{@link #suspended} and {@link #started} add the two later moments, each once; 0 means: not yet.
 *   <li>The build's page shows {@link #getSentence}; REST has the fields.
 * </ol>
 *
 * <p>One instance may be on the item and on the build at a time; every thread sees the moments as they are added.
 * They are saved when the item's or the build's owner saves it.
 */
@ExportedBean(defaultVisibility = 2)
public final class PreemptorAction extends InvisibleAction {

    private final String victim;
    private final String victimJob;
    private final String stage;
    private final String agent;
    private final String reason;
    private final long requestedMillis;
    private volatile long suspendedMillis;
    private volatile long startedMillis;

    /**
     * @param victim full display name of the build that gave way
     * @param victimJob full name of its job, whose readers are told which build it was; null when everybody is
     * @param stage name of its stage
     * @param agent display name of the agent
     * @param reason one sentence
     * @param requestedMillis when the suspension was requested, in milliseconds since 1970
     */
    public PreemptorAction(
            @NonNull String victim,
            @CheckForNull String victimJob,
            @NonNull String stage,
            @NonNull String agent,
            @NonNull String reason,
            long requestedMillis) {
        this.victim = Objects.requireNonNull(victim, "victim");
        this.victimJob = victimJob;
        this.stage = Objects.requireNonNull(stage, "stage");
        this.agent = Objects.requireNonNull(agent, "agent");
        this.reason = Objects.requireNonNull(reason, "reason");
        this.requestedMillis = requestedMillis;
    }

    /** As above, of a build whose name everybody may see. */
    public PreemptorAction(
            @NonNull String victim,
            @NonNull String stage,
            @NonNull String agent,
            @NonNull String reason,
            long requestedMillis) {
        this(victim, null, stage, agent, reason, requestedMillis);
    }

    /** The stage has given its executor away. @param millis since 1970 */
    public void suspended(long millis) {
        suspendedMillis = millis;
    }

    /** The item has started. @param millis since 1970 */
    public void started(long millis) {
        startedMillis = millis;
    }

    /** As far as the looking user may know. */
    @Exported
    public String getVictim() {
        return ShownName.of(victim, victimJob);
    }

    /** Empty when the looking user may not know whose it is. */
    @Exported
    public String getStage() {
        return named() ? stage : "";
    }

    private boolean named() {
        return victimJob == null || ShownName.readable(victimJob);
    }

    @Exported
    public String getAgent() {
        return agent;
    }

    @Exported
    public String getReason() {
        return reason;
    }

    /** Milliseconds since 1970. */
    @Exported
    public long getRequestedMillis() {
        return requestedMillis;
    }

    /** Milliseconds since 1970; 0 = not yet. */
    @Exported
    public long getSuspendedMillis() {
        return suspendedMillis;
    }

    /** Milliseconds since 1970; 0 = not yet. */
    @Exported
    public long getStartedMillis() {
        return startedMillis;
    }

    /** All of it, for people. */
    @Exported
    public String getSentence() {
        return sentence(
                named()
                        ? Messages.PreemptorAction_Stage(stage, victim)
                        : Messages.PreemptorAction_HiddenStage(getVictim()));
    }

    /** The same for the log of a build, which names what every reader of that build may know. */
    public String sentenceForLog(String job) {
        return sentence(
                LoggedName.mayName(victimJob, job)
                        ? Messages.PreemptorAction_Stage(stage, victim)
                        : Messages.LoggedName_Victim());
    }

    private String sentence(String what) {
        String why = ShownSentence.of(reason);
        long atSuspended = suspendedMillis;
        long atStarted = startedMillis;
        if (atSuspended == 0) {
            return Messages.PreemptorAction_Requested(what, agent, why);
        }
        String took = span(requestedMillis, atSuspended);
        if (atStarted == 0) {
            return Messages.PreemptorAction_Suspended(what, agent, why, took);
        }
        return Messages.PreemptorAction_Started(what, agent, why, took, span(requestedMillis, atStarted));
    }

    private static String span(long from, long to) {
        // The clock may have been set back in between.
        return Util.getTimeSpanString(Math.max(0, to - from));
    }
}
