package io.jenkins.plugins.preemptible.agent;

import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import java.util.EnumSet;
import java.util.Set;

/** Which reasons against a dump stay as long as the process that they are about. */
final class Lasting {

    private static final Set<FailureReason> REASONS = EnumSet.of(
            FailureReason.TRACED, FailureReason.OUTSIDE_FILE, FailureReason.IO_URING, FailureReason.UNSUPPORTED);

    private Lasting() {}

    static boolean is(FailureReason reason) {
        return REASONS.contains(reason);
    }
}
