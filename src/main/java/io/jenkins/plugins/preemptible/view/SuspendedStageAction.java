package io.jenkins.plugins.preemptible.view;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.model.InvisibleAction;
import java.time.Instant;
import java.util.Objects;
import org.jenkinsci.plugins.workflow.actions.PersistentAction;
import org.kohsuke.stapler.export.Exported;
import org.kohsuke.stapler.export.ExportedBean;

/**
 * Tells programs that a stage is suspended, since when, for whom or by whom, and how large its image is.
 *
 * <ol>
 *   <li>It is put on the flow node of the stage when its state changes, in place of the one before
 *       ({@code FlowNode.addOrReplaceAction}), and is saved with it.
 *   <li>It is exported: Blue Ocean's REST data of a node lists it under {@code actions}, Jenkins' own under the node.
 *   <li>It never changes, so no thread has to be waited for.
 * </ol>
 */
@ExportedBean(defaultVisibility = 2)
public final class SuspendedStageAction extends InvisibleAction implements PersistentAction {

    private final String stage;
    private final String state;
    private final long since;
    private final String preemptor;
    private final String preemptorJob;
    private final String reason;
    private final boolean frozen;
    /** False in what versions that knew no such thing have saved. */
    private final boolean memoryOnly;

    private final long size;
    /** False in what versions that knew no such thing have saved. */
    private final boolean byHand;

    private final String byHandUser;

    /**
     * @param stage the stage's name, as people see it
     * @param state the state's name, in capitals, as in the state machine: SUSPENDED, RESUMING, …
     * @param since when it entered that state, in milliseconds since 1970
     * @param preemptor for whom, as people see it: the full display name of a build or the name of a queue's task;
     *     null when for nobody in particular
     * @param preemptorJob full name of the preemptor's job, whose readers are told who it is; null when it has none
     * @param reason one sentence
     * @param frozen whether its processes are still in its agent's memory and no sealed image exists yet
     * @param memoryOnly whether none will be made, so that they stay there for as long as it is suspended
     * @param size of the image, in bytes; 0 when there is none
     * @param byHand whether a user has suspended it, so that it stays suspended until someone resumes it
     * @param byHandUser id of that user; null when there is none or they are not known
     * @throws IllegalArgumentException when the size or the time is negative
     */
    public SuspendedStageAction(
            @NonNull String stage,
            @NonNull String state,
            long since,
            @CheckForNull String preemptor,
            @CheckForNull String preemptorJob,
            @CheckForNull String reason,
            boolean frozen,
            boolean memoryOnly,
            long size,
            boolean byHand,
            @CheckForNull String byHandUser) {
        if (since < 0 || size < 0) {
            throw new IllegalArgumentException("neither time (" + since + ") nor size (" + size + ") can be negative");
        }
        this.stage = Objects.requireNonNull(stage, "stage");
        this.state = Objects.requireNonNull(state, "state");
        this.since = since;
        this.preemptor = preemptor;
        this.preemptorJob = preemptorJob;
        this.reason = reason;
        this.frozen = frozen;
        this.memoryOnly = memoryOnly;
        this.size = size;
        this.byHand = byHand;
        this.byHandUser = byHandUser;
    }

    /** As above, on an agent that makes images, for a preemptor that everybody may see, and not manually. */
    public SuspendedStageAction(
            @NonNull String stage,
            @NonNull String state,
            long since,
            @CheckForNull String preemptor,
            @CheckForNull String reason,
            boolean frozen,
            long size) {
        this(stage, state, since, preemptor, null, reason, frozen, false, size, false, null);
    }

    /** The stage's name. */
    @Exported
    public String getStage() {
        return stage;
    }

    /** The name of the state that the stage is in. */
    @Exported
    public String getState() {
        return state;
    }

    /** When it entered that state, in ISO 8601, UTC. */
    @Exported
    public String getSince() {
        return Instant.ofEpochMilli(since).toString();
    }

    /** The same in milliseconds since 1970. */
    @Exported
    public long getSinceMillis() {
        return since;
    }

    /** For whom, as far as the looking user may know; null when for nobody in particular. */
    @Exported
    @CheckForNull
    public String getPreemptor() {
        return ShownName.of(preemptor, preemptorJob);
    }

    /** Why, in one sentence. */
    @Exported
    @CheckForNull
    public String getReason() {
        return reason;
    }

    /** Whether its processes are still in its agent's memory and no sealed image exists yet. */
    @Exported
    public boolean isFrozen() {
        return frozen;
    }

    /** Whether none will be made: a restart of the agent's host loses the stage. */
    @Exported
    public boolean isMemoryOnly() {
        return memoryOnly;
    }

    /** Of the image, in bytes; 0 when there is none. */
    @Exported
    public long getSize() {
        return size;
    }

    /** Whether a user has suspended it, so that it stays suspended until someone resumes it. */
    @Exported
    public boolean isByHand() {
        return byHand;
    }

    /** Id of that user; null when there is none or they are not known. */
    @Exported
    @CheckForNull
    public String getByHandUser() {
        return byHandUser;
    }
}
