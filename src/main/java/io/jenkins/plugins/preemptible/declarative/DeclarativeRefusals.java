package io.jenkins.plugins.preemptible.declarative;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import java.util.List;
import org.jenkinsci.plugins.pipeline.modeldefinition.ast.ModelASTAgent;
import org.jenkinsci.plugins.pipeline.modeldefinition.ast.ModelASTOption;
import org.jenkinsci.plugins.pipeline.modeldefinition.ast.ModelASTPipelineDef;
import org.jenkinsci.plugins.pipeline.modeldefinition.ast.ModelASTStage;
import org.jenkinsci.plugins.pipeline.modeldefinition.ast.ModelASTStages;
import org.jenkinsci.plugins.pipeline.modeldefinition.ast.ModelASTValue;
import org.jenkinsci.plugins.pipeline.modeldefinition.validator.DeclarativeValidatorContributor;
import org.jenkinsci.plugins.workflow.flow.FlowExecution;

/**
 * Refuses what a Declarative Pipeline cannot do with preemptible stages when it is validated, before anything runs.
 *
 * <p>Each refusal is one sentence with the remedy. Values are checked by the step. Present only where the Declarative plugin
 * is.
 */
@Extension(optional = true)
public final class DeclarativeRefusals extends DeclarativeValidatorContributor {

    static final String OPTION =
            "preemptible in options { } does not say which executor the stage gives away. Write agent"
                    + " { preemptible { label '…' } } in place of the agent, or preemptible { … } inside of steps { }.";

    static final String VALUE =
            "agent { preemptible … } takes its parameters in a block. Write agent { preemptible { label" + " '…' } }.";

    static final String NESTED = "agent { preemptible … } inside of agent { preemptible … } is not possible: a stage is"
            + " suspended as a whole. Remove the inner or the outer one; with agent none around them, each stage can have"
            + " its own.";

    @Override
    public String validateElement(@NonNull ModelASTOption option, @CheckForNull FlowExecution execution) {
        return PreemptibleAgent.NAME.equals(option.getName()) ? OPTION : null;
    }

    /** Declarative itself would drop the value without a word, since no parameter is required. */
    @Override
    public String validateElement(@NonNull ModelASTAgent agent, @CheckForNull FlowExecution execution) {
        // The Directive Generator writes true where no parameter is given.
        return isPreemptible(agent)
                        && agent.getVariables() instanceof ModelASTValue value
                        && !Boolean.TRUE.equals(value.getValue())
                ? VALUE
                : null;
    }

    @Override
    public String validateElement(@NonNull ModelASTPipelineDef pipeline, @CheckForNull FlowExecution execution) {
        return isNested(pipeline.getStages(), isPreemptible(pipeline.getAgent())) ? NESTED : null;
    }

    private static boolean isNested(@CheckForNull ModelASTStages stages, boolean inside) {
        return stages != null && isNested(stages.getStages(), inside);
    }

    private static boolean isNested(List<ModelASTStage> stages, boolean inside) {
        return stages.stream().anyMatch(stage -> isNested(stage, inside));
    }

    private static boolean isNested(ModelASTStage stage, boolean inside) {
        boolean own = isPreemptible(stage.getAgent());
        boolean within = inside || own;
        return inside && own
                || isNested(stage.getStages(), within)
                || isNested(stage.getParallel(), within)
                || stage.getMatrix() != null
                        && (within && isPreemptible(stage.getMatrix().getAgent())
                                || isNested(
                                        stage.getMatrix().getStages(),
                                        within
                                                || isPreemptible(
                                                        stage.getMatrix().getAgent())));
    }

    private static boolean isPreemptible(@CheckForNull ModelASTAgent agent) {
        return agent != null
                && agent.getAgentType() != null
                && PreemptibleAgent.NAME.equals(agent.getAgentType().getKey());
    }
}
