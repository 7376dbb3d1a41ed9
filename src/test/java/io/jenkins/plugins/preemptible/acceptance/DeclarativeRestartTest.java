package io.jenkins.plugins.preemptible.acceptance;

import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The controller restarts while the stage of a Declarative Pipeline's preemptible agent is suspended. */
@Tag("acceptance")
@Tag("slow")
class DeclarativeRestartTest extends Restarts {

    private static final String JOB = "declarative";

    @Test
    void theAgentAndItsPipelineOutliveIt() throws Throwable {
        String script =
                "pipeline {\n agent { preemptible { label 'linux'; priority 5 } }\n stages {\n stage('fuzz') { steps {"
                        + " sh '''set +x\n" + Rig.endless()
                        + "\n''' } }\n stage('after') { steps { echo \"on $NODE_NAME\" } }\n }\n}";
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            suspendedForPipeline(rig, JOB, Rig.LABEL, script);
        });
        Rig.restart(sessions, agents, j -> {
            WorkflowRun preemptor = build(j, "for-" + JOB);
            enough(preemptor, "worker");
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
            goneOn(j, build(j, JOB), "worker");
            j.assertLogContains("on worker", build(j, JOB));
            nothingLeft(j, build(j, JOB), "worker");
        });
    }
}
