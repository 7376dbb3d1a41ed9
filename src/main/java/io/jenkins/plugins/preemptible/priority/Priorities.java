package io.jenkins.plugins.preemptible.priority;

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
 *   <li>A stage's priority is settled when its step starts and kept with it; an item's is asked anew at every look.
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

    /** The priority of an item of which nobody has said anything. */
    public abstract int ordinary();

    /** The priority of what a build runs without a {@code preemptible} step, such as its {@code node} blocks. */
    public abstract int ofBuild(Run<?, ?> run);

    /** The priority of a stage in this build whose step asks for none. */
    public abstract int ofStageByDefault(Run<?, ?> run);

    /** The priority of an item that waits. */
    public abstract int ofItem(Queue.Item item);
}
