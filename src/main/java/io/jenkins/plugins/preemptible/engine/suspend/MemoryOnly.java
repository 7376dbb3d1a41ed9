package io.jenkins.plugins.preemptible.engine.suspend;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import java.util.function.Supplier;

/** The answer of an engine that makes no images when it is asked for one. */
public final class MemoryOnly {

    private MemoryOnly() {}

    /**
     * Thaws a frozen stage where the caller wants that, then refuses with {@link FailureReason#MEMORY_ONLY}.
     *
     * @param state asks for the stage's state; its failure is added to the refusal
     */
    public static SuspendFailedException refuseDump(
            StageId id, IfDumpFails ifFails, Supplier<State> state, Runnable thaw) {
        SuspendFailedException refusal = new SuspendFailedException(FailureReason.MEMORY_ONLY, id.value());
        try {
            if (ifFails == IfDumpFails.THAW && state.get() == State.SUSPENDING) {
                thaw.run();
            }
        } catch (EngineException e) {
            refusal.addSuppressed(e);
        }
        return refusal;
    }
}
