package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.slaves.DumbSlave;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Node blocks inside of a preemptible one, on an agent that has nothing to do with the stage. */
@WithJenkins
@Tag("acceptance")
class OtherNodeTest extends OneAgent {

    private static final String NAMESPACE = "$(readlink /proc/self/ns/pid)";

    @BeforeEach
    void otherAgent() throws Exception {
        if (j.jenkins.getNode("other") == null) {
            DumbSlave other = AgentJvm.add(j, "other", "other", null);
            j.waitOnline(other);
        }
    }

    private static String script(boolean nested, String body) {
        return nested
                ? "node('linux') { preemptible { " + body + " } }"
                : "preemptible(label: 'linux') { " + body + " }";
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void anotherAgentsCommandsRunAsWithoutUs(boolean nested) throws Exception {
        WorkflowJob job = rig.pipeline(
                "both",
                5,
                script(
                        nested,
                        "sh 'echo outer=" + NAMESPACE + "'\n"
                                + "node('other') { sh 'echo inner=" + NAMESPACE + "; pwd; echo in $NODE_NAME' }\n"
                                + "sh 'echo again=" + NAMESPACE + "'"));
        WorkflowRun run = j.assertBuildStatusSuccess(j.waitForCompletion(Rig.start(job)));
        String host = Files.readSymbolicLink(Path.of("/proc/self/ns/pid")).toString();
        assertEquals(host, said(run, "inner"), "not in the stage's sandbox");
        assertNotEquals(host, said(run, "outer"));
        assertEquals(said(run, "outer"), said(run, "again"));
        assertThat(Rig.log(run), containsString("in other"));
    }

    private static String said(WorkflowRun run, String name) throws Exception {
        Matcher line = Pattern.compile("^" + name + "=(.*)$", Pattern.MULTILINE).matcher(Rig.log(run));
        assertTrue(line.find(), Rig.log(run));
        return line.group(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void aStageIsNotSuspendedWhileItsPipelineRunsElsewhere(boolean nested) throws Exception {
        WorkflowJob low = rig.pipeline(
                "low",
                5,
                script(nested, "sh 'true'\n" + "node('other') { sh 'echo begun; sleep 8' }\n" + "sh 'echo after'"));
        WorkflowJob high = rig.pipeline("high", 1, Rig.preemptor());
        WorkflowRun running = Rig.start(low);
        Rig.awaitLog(running, "begun\n");
        WorkflowRun waiting = Rig.start(high);
        j.assertBuildStatusSuccess(j.waitForCompletion(running));
        j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
        // Afterwards it may be, for the one that waits.
        String meanwhile = Rig.log(running).split("// node", 2)[0];
        assertThat(meanwhile, not(containsString("Suspending this stage")));
        assertThat(Rig.log(running), containsString("\nafter\n"));
        Rig.assertNothingLeft(agent, low);
    }
}
