package io.jenkins.plugins.preemptible.engine.api;

/** How much an archive holds. */
public enum Extent {
    /** Everything: it needs no other file. */
    FULL,
    /**
     * What changed since the stage's last full image, which has to stay in the same folder until the stage was resumed.
     * Everything all the same when there is no such image, or more than half changed.
     */
    DIFFERENCE
}
