package io.jenkins.plugins.preemptible.priority;

/** A queue task that has a priority of its own: the one of a preemptible step. Any thread, under the queue's lock too. */
public interface OwnPriority {

    /** The lower, the more urgent; at least 1. */
    int priority();
}
