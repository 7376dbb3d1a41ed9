package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The usual steps do in a preemptible block what they do under node, before a suspension and after it. */
@WithJenkins
@Tag("acceptance")
class StepsTest extends OneAgent {

    /** Every line that it says begins with the given mark. */
    private static final String STEPS = """
            def steps(mark) {
              echo "$mark node=${env.NODE_NAME} executor=${env.EXECUTOR_NUMBER} labels=${env.NODE_LABELS}"
              echo "$mark workspace ${env.WORKSPACE == pwd()} unix ${isUnix()}"
              writeFile file: 'a.txt', text: "a-$mark"
              echo "$mark read=${readFile('a.txt')} exists=${fileExists('a.txt')} ${fileExists('no.txt')}"
              dir('sub') {
                writeFile file: 'b.txt', text: "b-$mark"
                sh "test \\"\\$PWD\\" = \\"\\$WORKSPACE/sub\\" && echo '$mark in sub'"
                stash name: mark, includes: 'b.txt'
              }
              dir("again-$mark") {
                unstash mark
                sh "echo $mark unstashed=\\$(cat b.txt)"
                deleteDir()
              }
              withEnv(['GREETING=hello  $HOME "you"', "PATH+X=/x-$mark"]) {
                sh "printf '%s greeting=%s path=%s\\\\n' $mark \\"\\$GREETING\\" \\"\\${PATH%%:*}\\""
              }
              def out = sh(script: 'echo out; echo err >&2', returnStdout: true).trim()
              def status = sh(script: 'exit 7', returnStatus: true)
              echo "$mark stdout=$out status=$status"
              try {
                sh 'exit 3'
              } catch (e) {
                echo "$mark caught=${e.message}"
              }
              writeFile file: "kept-${mark}.txt", text: mark
              archiveArtifacts "kept-${mark}.txt"
            }
            """;

    @Test
    void stepsInOwnExecutorStage() throws Exception {
        WorkflowRun run = suspendedOnce(STEPS + "preemptible(label: 'linux') {" + body() + "}");
        said(run, "first");
        said(run, "second");
    }

    @Test
    void stepsInNestedStage() throws Exception {
        WorkflowRun run = suspendedOnce(STEPS + "node('linux') { preemptible {" + body() + "}\nsteps('third') }");
        said(run, "first");
        said(run, "second");
        said(run, "third");
    }

    /** The output of the step that is suspended is taken by the Pipeline, not by the console. */
    private static String body() {
        return "steps('first')\n"
                + "def counted = sh(returnStdout: true, script: '''set +x\n"
                + "touch started\n" + Rig.endless() + "''')\n"
                + "def lines = counted.trim().split('\\n')\n"
                + "def whole = true\n"
                + "for (int i = 0; i < lines.length; i++) { whole = whole && lines[i] == \"count-${i + 1}\" }\n"
                + "echo \"whole=$whole\"\n"
                + "sh 'rm enough'\n"
                + "timeout(time: 60, unit: 'SECONDS') { steps('second') }\n";
    }

    private WorkflowRun suspendedOnce(String script) throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, script);
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        WorkflowRun run = Rig.start(low);
        Rig.awaitFile(run, "started");
        Thread.sleep(500);
        j.assertBuildStatusSuccess(j.waitForCompletion(Rig.start(high)));
        Rig.awaitLog(run, "Resumed on worker");
        Rig.enough(run);
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
        assertThat(Rig.log(run), containsString("whole=true"));
        assertThat(
                run.getArtifacts().stream()
                        .map(artifact -> artifact.relativePath)
                        .sorted()
                        .toList()
                        .toString(),
                containsString("kept-first.txt, kept-second.txt"));
        assertEquals(
                List.of(),
                run.getArtifacts().stream()
                        .map(artifact -> artifact.relativePath)
                        .filter(path -> path.startsWith("preemptible/"))
                        .toList());
        return run;
    }

    private static void said(WorkflowRun run, String mark) throws Exception {
        String log = Rig.log(run);
        assertThat(log, containsString(mark + " node=worker executor=0 labels=linux worker"));
        assertThat(log, containsString(mark + " workspace true unix true"));
        assertThat(log, containsString(mark + " read=a-" + mark + " exists=true false"));
        assertThat(log, containsString(mark + " in sub\n"));
        assertThat(log, containsString(mark + " unstashed=b-" + mark + "\n"));
        assertThat(log, containsString(mark + " greeting=hello  $HOME \"you\" path=/x-" + mark + "\n"));
        assertThat(log, containsString(mark + " stdout=out status=7"));
        assertThat(log, containsString(mark + " caught=script returned exit code 3"));
    }
}
