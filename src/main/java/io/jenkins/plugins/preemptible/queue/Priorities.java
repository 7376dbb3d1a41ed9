package io.jenkins.plugins.preemptible.queue;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.ExtensionList;
import hudson.ExtensionPoint;
import hudson.model.Queue;
import hudson.model.Run;

/**
 * Where priorities come from.
 *
 * <ol>
 *   <li>A lower number is a higher priority, 1 the highest, as in Priority Sorter.
 *   <li>The extension of the highest ordinal counts: Priority Sorter's where that plugin is, else {@link
 *       StepPriorities}.
 *   <li>A stage's priority is settled when it starts and kept with it; an item's is asked anew at every look.
 * </ol>
 *
 * Called off the queue's lock; implementations may load builds.
 */
public abstract class Priorities implements ExtensionPoint {

    public static Priorities get() {
        return ExtensionList.lookup(Priorities.class).get(0);
    }

    /** The largest number that is a priority here. */
    public abstract int lowest();

    /**
     * The priority of a stage that starts in this build.
     *
     * @param own what the step asks for, null when it does not
     */
    public abstract int ofStage(Run<?, ?> run, @CheckForNull Integer own);

    /** The priority of an item that waits. */
    public abstract int ofItem(Queue.Item item);
}
