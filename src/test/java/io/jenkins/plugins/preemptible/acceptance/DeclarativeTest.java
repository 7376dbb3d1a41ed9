package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;

import hudson.model.Result;
import org.jenkinsci.plugins.workflow.cps.CpsScmFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.SingleFileSCM;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Declarative Pipelines whose agent is preemptible: suspended and resumed, and refused where they say what cannot be. */
@WithJenkins
@Tag("acceptance")
class DeclarativeTest extends OneAgent {

    private static final String SCRIPT = "Jenkinsfile";

    private static final String COUNTS = "sh '''set +x\n" + Rig.endless() + "\n'''";

    @Test
    void atTheTopWithItsCheckout() throws Exception {
        WorkflowRun victim = suspendedAndResumed("""
                pipeline {
                  agent { preemptible { label 'linux'; priority 4; name 'fuzz' } }
                  stages {
                    stage('first') { steps { sh 'test -f Jenkinsfile' } }
                    stage('second') { steps { %s } }
                  }
                  post { success { echo "on $NODE_NAME in the end" } }
                }""");

        assertThat(Rig.log(victim), containsString("Declarative: Checkout SCM"));
        assertThat(Rig.log(victim), containsString("on worker in the end"));
        assertThat(Rig.log(victim), not(containsString("[Pipeline] node")));
    }

    @Test
    void inAStageWithItsCheckout() throws Exception {
        WorkflowRun victim = suspendedAndResumed("""
                pipeline {
                  agent none
                  stages {
                    stage('fuzz') {
                      agent { preemptible { label 'linux' } }
                      steps { sh 'test -f Jenkinsfile'; %s }
                    }
                  }
                }""");

        assertThat(Rig.log(victim), not(containsString("[Pipeline] node")));
    }

    /** Without a label it takes the executor of the agent around it, as the step does inside of node. */
    @Test
    void inAStageOfAnotherAgent() throws Exception {
        suspendedAndResumed("""
                pipeline {
                  agent { label 'linux' }
                  stages {
                    stage('fuzz') {
                      agent { preemptible { priority 4 } }
                      steps { %s }
                    }
                  }
                }""");
    }

    private WorkflowRun suspendedAndResumed(String script) throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, "");
        low.setDefinition(new CpsScmFlowDefinition(new SingleFileSCM(SCRIPT, script.formatted(COUNTS)), SCRIPT));
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        j.assertBuildStatusSuccess(j.waitForCompletion(Rig.start(high)));
        Rig.awaitLog(victim, "Resumed on worker");
        Rig.awaitCounting(victim);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        Rig.assertNothingLeft(agent, low);
        return victim;
    }

    @Test
    void whatCannotBeIsRefusedBeforeAnythingRuns() throws Exception {
        String options = "preemptible in options { } does not say which executor the stage gives away. Write agent {"
                + " preemptible { label '…' } } in place of the agent, or preemptible { … } inside of steps { }.";
        refused("agent { label 'linux' }\n options { preemptible() }", stage(""), options);
        refused("agent none", stage("options { preemptible(priority: 4) }\n agent { label 'linux' }\n"), options);
        String nested =
                "agent { preemptible … } inside of agent { preemptible … } is not possible: a stage is suspended as"
                        + " a whole. Remove the inner or the outer one";
        String top = "agent { preemptible { label 'linux' } }";
        refused(top, stage(top), nested);
        refused(top, "stage('p') { parallel { " + stage(top) + " } }", nested);
        refused("agent none", "stage('o') { " + top + "\n stages { " + stage(top) + " } }", nested);
        refused(
                top,
                "stage('m') { matrix { " + top + "\n axes { axis { name 'X'; values 'x' } }\n stages { " + stage("")
                        + " } } }",
                nested);
        refused(
                "agent { preemptible 'linux' }",
                stage(""),
                "agent { preemptible … } takes its parameters in a block. Write agent { preemptible { label '…' } }.");
        refused(
                "agent { preemptible { label 'linux'; customWorkspace '/tmp/x' } }",
                stage(""),
                "Invalid config option \"customWorkspace\" for agent type \"preemptible\"");
    }

    private static String stage(String agent) {
        return "stage('s') { " + agent + "\n steps { echo 'not reached' } }";
    }

    private void refused(String top, String stages, String sentence) throws Exception {
        String script = "pipeline {\n " + top + "\n stages { " + stages + " }\n}";
        WorkflowJob job = rig.pipeline("bad" + j.jenkins.getItems().size(), 3, script);
        WorkflowRun run = j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(Rig.start(job)));
        assertThat(script, Rig.log(run), containsString(sentence));
        assertThat(script, Rig.log(run), not(containsString("[Pipeline] stage")));
        assertThat(script, Rig.log(run), not(containsString("[Pipeline] node")));
    }

    @Test
    void withoutParametersItRunsOnAnyAgent() throws Exception {
        for (String agent : new String[] {"agent { preemptible { } }", "agent { preemptible true }"}) {
            WorkflowJob job = rig.pipeline(
                    "any" + j.jenkins.getItems().size(),
                    3,
                    "pipeline {\n " + agent + "\n stages { stage('s') { steps { sh 'echo ran' } } }\n}");
            WorkflowRun run = j.assertBuildStatusSuccess(j.waitForCompletion(Rig.start(job)));
            assertThat(Rig.log(run), containsString("[Pipeline] preemptible"));
        }
    }

    @Test
    void badValuesAreRefusedByTheStep() throws Exception {
        for (String[] bad : new String[][] {
            {"priority 9", "priority is 9, expected is 1 (highest) to 5 (lowest)"},
            {"timeSliceMinutes 0", "timeSliceMinutes is 0, expected is 1 to 10080"},
            {"tcp 'keep'", "tcp is 'keep', expected is 'refuse' or 'close'"}
        }) {
            WorkflowJob job = rig.pipeline(
                    "value" + j.jenkins.getItems().size(),
                    3,
                    "pipeline {\n agent { preemptible { label 'linux'; " + bad[0] + " } }\n stages { " + stage("")
                            + " }\n}");
            WorkflowRun run = j.assertBuildStatus(Result.FAILURE, j.waitForCompletion(Rig.start(job)));
            assertThat(Rig.log(run), containsString(bad[1]));
            assertThat(Rig.log(run), not(containsString("[Pipeline] echo")));
        }
    }
}
