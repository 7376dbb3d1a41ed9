package io.jenkins.plugins.preemptible.engine.host;

import java.io.Serializable;
import java.util.Optional;

/**
 * One process of this host, distinct from a later process with the same id.
 *
 * <ol>
 *   <li>{@code startTicks} is field 22 of proc(5)'s {@code stat}: clock ticks from boot to the process's start.
 *   <li>Process id and start time together name one process until the next boot.
 *   <li>{@code bootId} tells boots apart.
 * </ol>
 */
public record HostProcess(long pid, long startTicks, String bootId) implements Serializable {

    private static final long serialVersionUID = 1L;

    /** The process that has this id now; empty when there is none or it is a zombie. */
    public static Optional<HostProcess> of(long pid) {
        return Proc.stat(pid).filter(s -> !s.zombie()).map(s -> new HostProcess(pid, s.startTicks(), Proc.bootId()));
    }

    /** Whether this JVM runs as root. */
    public static boolean isRoot() {
        return Proc.statusWords(ProcessHandle.current().pid(), "Uid").stream()
                .skip(1)
                .findFirst()
                .orElse("")
                .equals("0");
    }

    /** Whether this process still runs (a zombie does not). */
    public boolean alive() {
        return of(pid).filter(this::equals).isPresent();
    }
}
