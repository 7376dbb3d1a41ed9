package io.jenkins.plugins.preemptible.engine.live.memory;

import java.io.IOException;

/**
 * Says that the memory of a stage could not be copied: its processes run or are frozen as before, and nothing is left of the
 * copies. What of an image was written meanwhile is of no use.
 */
public final class NoCopyException extends IOException {

    private static final long serialVersionUID = 1L;

    private final boolean lasting;

    /**
     * For a cause that may pass.
     *
     * @param why a sentence without a final stop
     */
    public NoCopyException(String why, Throwable cause) {
        this(why, cause, false);
    }

    private NoCopyException(String why, Throwable cause, boolean lasting) {
        super(why, cause);
        this.lasting = lasting;
    }

    /** For a cause that stays as long as the process that has it: memory that it keeps from its children. */
    static NoCopyException lasting(String why, Throwable cause) {
        return new NoCopyException(why, cause, true);
    }

    /** Whether trying again is of no use. */
    public boolean isLasting() {
        return lasting;
    }
}
