package io.jenkins.plugins.preemptible.step;

import org.jenkinsci.plugins.workflow.steps.StepContext;

/** As {@link StageBody}, but a body that was ended to be run again is run again. */
final class OwnBody extends StageBody {

    private static final long serialVersionUID = 1L;

    private final OwnExecutorExecution execution;

    OwnBody(OwnExecutorExecution execution, String stageId) {
        super(stageId);
        this.execution = execution;
    }

    @Override
    void failed(StepContext context, Throwable failure) {
        if (RunAgain.ended(failure, stageId)) {
            execution.again();
        } else {
            context.onFailure(failure);
        }
    }
}
