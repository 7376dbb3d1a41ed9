package io.jenkins.plugins.preemptible.step;

import java.util.Objects;
import jenkins.model.CauseOfInterruption;
import org.jenkinsci.plugins.workflow.steps.FlowInterruptedException;

/** Why the body of a stage was ended that is run again from its beginning. */
public final class RunAgain extends CauseOfInterruption {

    private static final long serialVersionUID = 1L;

    private final String stageId;

    RunAgain(String stageId) {
        this.stageId = stageId;
    }

    /** Whether this is how the body of that stage ended, not that of another one or a failure of its own. */
    static boolean ended(Throwable failure, String stageId) {
        return failure instanceof FlowInterruptedException
                && ((FlowInterruptedException) failure)
                        .getCauses().stream()
                                .anyMatch(cause ->
                                        cause instanceof RunAgain && ((RunAgain) cause).stageId.equals(stageId));
    }

    @Override
    public String getShortDescription() {
        return Messages.RunAgain_shortDescription();
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof RunAgain && ((RunAgain) other).stageId.equals(stageId);
    }

    @Override
    public int hashCode() {
        return Objects.hash(stageId);
    }
}
