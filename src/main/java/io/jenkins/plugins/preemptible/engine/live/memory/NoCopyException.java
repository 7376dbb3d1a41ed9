package io.jenkins.plugins.preemptible.engine.live.memory;

import java.io.IOException;

/**
 * Says that the memory of a stage could not be copied: its processes run or are frozen as before, and nothing is left of the
 * copies. What of an image was written meanwhile is of no use.
 */
public final class NoCopyException extends IOException {

    private static final long serialVersionUID = 1L;

    /** @param why a sentence without a final stop */
    public NoCopyException(String why, Throwable cause) {
        super(why, cause);
    }
}
