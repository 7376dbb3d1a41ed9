package io.jenkins.plugins.preemptible.declarative

import org.jenkinsci.plugins.pipeline.modeldefinition.agent.CheckoutScript
import org.jenkinsci.plugins.pipeline.modeldefinition.agent.DeclarativeAgentScript2
import org.jenkinsci.plugins.workflow.cps.CpsScript

/** Runs a pipeline's or a stage's body in the preemptible step, with the checkout that Declarative adds. */
class PreemptibleAgentScript extends DeclarativeAgentScript2<PreemptibleAgent> {

    PreemptibleAgentScript(CpsScript script, PreemptibleAgent agent) {
        super(script, agent)
    }

    @Override
    void run(Closure body) {
        script.preemptible(describable.arguments()) {
            CheckoutScript.doCheckout2(script, describable, null, body)
        }
    }
}
