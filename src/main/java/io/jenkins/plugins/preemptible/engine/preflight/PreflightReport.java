package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.criu.CriuOptions;
import java.util.List;

/**
 * What a look at a stage's tree found.
 *
 * @param leaks what stops a dump, the worst first; empty when nothing does
 * @param options what criu has to be given for this tree
 */
public record PreflightReport(List<Leak> leaks, CriuOptions options) {

    public PreflightReport {
        leaks = List.copyOf(leaks);
    }

    public boolean ok() {
        return leaks.isEmpty();
    }

    /** Those that stay as long as the process that has them: with one in its first seconds, do not count on a stage. */
    public List<Leak> lasting() {
        return leaks.stream().filter(l -> !l.reason().passing()).toList();
    }
}
