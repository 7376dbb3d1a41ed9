package io.jenkins.plugins.preemptible.engine.privileged;

import java.util.Locale;

/** What the privileged part says of a stage's processes; {@code helper/main.c} has the same words, in small letters. */
public enum HostState {
    /** Its init has not begun. */
    STARTING,
    RUNNING,
    FROZEN,
    /** The privileged part has killed it. */
    KILLED,
    /** Its processes are gone since the host was restarted. */
    LOST,
    ENDED;

    /**
     * @throws IllegalArgumentException when there is no such state
     */
    static HostState of(String word) {
        return valueOf(word.toUpperCase(Locale.ROOT));
    }
}
