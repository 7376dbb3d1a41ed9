package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.cloudbees.plugins.credentials.CredentialsScope;
import com.cloudbees.plugins.credentials.SecretBytes;
import com.cloudbees.plugins.credentials.SystemCredentialsProvider;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jenkinsci.plugins.plaincredentials.impl.FileCredentialsImpl;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Secrets of a stage's steps, on the agent that the stage has left. */
@Tag("acceptance")
class MovedSecretsTest extends MovedStages {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("move.LeftAgent.delayMillis", 500);

    /** Pipeline keeps it beside the folder of the block, in the workspace. */
    @Test
    void aFileOfWithCredentialsInsideOfDirDoesNotStay() throws Exception {
        SystemCredentialsProvider provider = SystemCredentialsProvider.getInstance();
        provider.getCredentials()
                .add(new FileCredentialsImpl(
                        CredentialsScope.GLOBAL,
                        "file",
                        "",
                        "key.txt",
                        SecretBytes.fromBytes("terces\n".getBytes(StandardCharsets.UTF_8))));
        provider.save();
        WorkflowRun stage =
                begin("dir('outer') { withCredentials([file(credentialsId: 'file', variable: 'F')]) { dir('inner') {\n"
                        + counter().replace("enough", "../../enough")
                        + "\nsh 'echo \"it is $(rev \"$F\")\"' } } }");
        Path beside = hosts.workspace("A", "low").resolve("outer@tmp");
        assertTrue(Files.isDirectory(beside));
        suspend(stage, 1);
        hosts.connect("B");
        move("B");
        awaitMoved(stage, "A", "B");
        await(beside + " is gone").atMost(LONG).until(() -> !Files.exists(beside));
        assertTrue(Files.isDirectory(beside.resolveSibling("outer")));
        endsOn("B", stage);
        assertThat(Rig.log(stage), containsString("it is secret"));
    }
}
