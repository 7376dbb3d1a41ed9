package io.jenkins.plugins.preemptible.engine.api;

/**
 * What becomes of a stage's TCP connections to processes outside of it.
 *
 * <ol>
 *   <li>Chosen when the stage is started; {@link #REFUSE} by default.
 *   <li>Connections between processes of the stage itself are carried over in every case.
 *   <li>A listening socket is no connection: it is always carried over.
 * </ol>
 */
public enum Connections {
    /** A stage that holds one is not suspended. */
    REFUSE,
    /** They are cut: after the resume each reads as reset by its peer (criu's {@code --tcp-close}). */
    CLOSE
}
