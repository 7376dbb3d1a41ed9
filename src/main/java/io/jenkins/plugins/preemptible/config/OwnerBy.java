package io.jenkins.plugins.preemptible.config;

/**
 * By what builds belong together when executor time is shared among equals.
 *
 * <ol>
 *   <li>The administrator chooses one for the whole controller.
 *   <li>{@link Owners} finds the owner of a build and of an item that waits.
 *   <li>A stage keeps the owner that it had when it began.
 * </ol>
 */
public enum OwnerBy {
    /** Who started the build, or the one at the root of its upstream builds; the job where nobody did. */
    USER,
    /** The folder right around the job; a multibranch project is such a folder. */
    FOLDER,
    /** The job; each branch of a multibranch project is one. */
    JOB
}
