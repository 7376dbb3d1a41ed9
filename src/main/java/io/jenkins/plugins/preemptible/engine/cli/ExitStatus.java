package io.jenkins.plugins.preemptible.engine.cli;

/**
 * What the command line's exit statuses mean.
 *
 * <ol>
 *   <li>0 is done, and 1 is that this host cannot, or that something failed that has no status of its own.
 *   <li>2, 3 and 4 say what state the stage is in afterwards, 5 that it could not be suspended.
 *   <li>{@code wait} alone gives out the command's own status instead.
 * </ol>
 */
final class ExitStatus {

    static final int OK = 0;
    /** This host cannot do it, or something unexpected. */
    static final int FAILED = 1;
    /** Wrong usage, an unknown id, a file that cannot be used: nothing was changed. */
    static final int USAGE = 2;
    /** The suspension failed, and the stage keeps running. */
    static final int SUSPEND_FAILED = 3;
    /** The restore failed, and the stage's image is kept. */
    static final int RESUME_FAILED = 4;
    /** Something ties the stage to the outside, so that it could not be suspended now. */
    static final int TIED = 5;
    /** Interrupted, as a shell says it. */
    static final int INTERRUPTED = 130;

    static final String[] HELP = {
        "0:done",
        "1:this host cannot do it (see 'preempt check'), or something unexpected",
        "2:wrong usage, an unknown id, or a file that cannot be used; nothing was changed",
        "3:the suspension failed, and the stage keeps running",
        "4:the restore failed, and the stage's image is kept",
        "5:something ties the stage to the outside, so that it cannot be suspended now"
    };

    private ExitStatus() {}
}
