package io.jenkins.plugins.preemptible.view;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.ExtensionList;
import hudson.ExtensionPoint;
import hudson.model.Run;
import java.util.List;

/**
 * Knows which stages of a build are suspended, so that pages can show it.
 *
 * <ol>
 *   <li>A page that shows a build, or a list of them, asks for each.
 *   <li>What is suspended is looked up in memory, by the build's own id.
 *   <li>The answer is what holds at that moment; it is not kept.
 * </ol>
 *
 * <p>{@link #of} is called on threads that serve pages, for every build of a job's history: it must neither load a
 * build or flow node, nor wait for a lock that is held during I/O.
 */
public interface SuspendedStages extends ExtensionPoint {

    /** The suspended stages of this build, in the order in which they were suspended; empty for almost every build. */
    @NonNull
    List<View> of(@NonNull Run<?, ?> run);

    /** The running stages of this build of which there is something to say. The same rules hold as for {@link #of}. */
    @NonNull
    default List<Running> runningOf(@NonNull Run<?, ?> run) {
        return List.of();
    }

    /** Of all that is installed. */
    @NonNull
    static List<View> allOf(@NonNull Run<?, ?> run) {
        return ExtensionList.lookup(SuspendedStages.class).stream()
                .flatMap(known -> known.of(run).stream())
                .toList();
    }

    /**
     * One suspended stage.
     *
     * @param stage its name, as people see it
     * @param preemptor for whom, as people see it; null when for nobody in particular
     * @param sinceMillis when it was suspended, in milliseconds since 1970
     * @param frozen whether its processes are still in its agent's memory and no sealed image exists yet
     * @param memoryOnly whether none will be made, so that they stay there for as long as it is suspended
     * @param imageBytes of its image; 0 when that is not known
     * @param byHand whether a user has suspended it, so that it stays suspended until someone resumes it
     * @param byHandUser id of that user; null when there is none or they are not known
     * @param unsealed whether no image could be made of one that is frozen, nor will be
     * @param agentGone its agent's name when that was removed from Jenkins; null while it is known
     * @param endsMillis when it ends unless that agent is added again, in milliseconds since 1970; 0 when that is not known,
     *     -1 when it is resumed on another agent instead
     * @param thawByMillis by when it is to run again, since it cannot be dumped, in milliseconds since 1970; 0 for all others
     * @param moveTo name of the agent on which a user wants it resumed; null when on none in particular
     * @param stored whether it can be resumed without its agent
     * @param checkpointMillis when the checkpoint was made that it goes back to, in milliseconds since 1970; 0 when it goes on
     *     from where it was suspended
     */
    record View(
            @NonNull String stage,
            @CheckForNull String preemptor,
            long sinceMillis,
            boolean frozen,
            boolean memoryOnly,
            long imageBytes,
            boolean byHand,
            @CheckForNull String byHandUser,
            boolean unsealed,
            @CheckForNull String agentGone,
            long endsMillis,
            long thawByMillis,
            @CheckForNull String moveTo,
            boolean stored,
            long checkpointMillis) {

        /** One that may stay suspended. */
        public View(
                @NonNull String stage,
                @CheckForNull String preemptor,
                long sinceMillis,
                boolean frozen,
                boolean memoryOnly,
                long imageBytes,
                boolean byHand,
                @CheckForNull String byHandUser,
                boolean unsealed,
                @CheckForNull String agentGone,
                long endsMillis) {
            this(
                    stage,
                    preemptor,
                    sinceMillis,
                    frozen,
                    memoryOnly,
                    imageBytes,
                    byHand,
                    byHandUser,
                    unsealed,
                    agentGone,
                    endsMillis,
                    0,
                    null,
                    false,
                    0);
        }

        /** One of an agent that makes images. */
        public View(
                @NonNull String stage,
                @CheckForNull String preemptor,
                long sinceMillis,
                boolean frozen,
                long imageBytes,
                boolean byHand,
                @CheckForNull String byHandUser) {
            this(stage, preemptor, sinceMillis, frozen, false, imageBytes, byHand, byHandUser, false, null, 0);
        }

        /** One that is resumed when its turn comes. */
        public View(
                @NonNull String stage,
                @CheckForNull String preemptor,
                long sinceMillis,
                boolean frozen,
                long imageBytes) {
            this(stage, preemptor, sinceMillis, frozen, imageBytes, false, null);
        }
    }

    /**
     * What is to be said of one running stage.
     *
     * @param stage its name, as people see it
     * @param whyNotSuspendable why it can never be suspended as it is now, in words; null when nothing stands against it
     * @param whyOnlyFrozen why it cannot be dumped but may be frozen for a time, in words; null when that is not so
     * @param resumedFrom from what it was last resumed, as the end of a sentence; null before
     * @param resumedMillis when, in milliseconds since 1970
     */
    record Running(
            @NonNull String stage,
            @CheckForNull String whyNotSuspendable,
            @CheckForNull String whyOnlyFrozen,
            @CheckForNull String resumedFrom,
            long resumedMillis) {}
}
