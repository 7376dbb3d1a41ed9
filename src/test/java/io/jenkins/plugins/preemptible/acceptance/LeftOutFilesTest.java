package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.cli.CLICommandInvoker;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import java.nio.file.Files;
import java.nio.file.Path;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What an administrator leaves out of the workspaces that travel. */
@Tag("acceptance")
class LeftOutFilesTest extends MovedStages {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("move.LeftAgent.delayMillis", 500);

    private static final String FILES =
            "sh 'mkdir -p part/cache/deep part/kept; echo 1 | tee part/cache/deep/file part/kept/file'\n";

    /** Stored with the image, or packed by the old agent. */
    @Tag("slow")
    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void whatIsLeftOutStaysOnTheOldAgent(boolean stored) throws Exception {
        PreemptibleConfiguration.get().setMoveExcludes("**/cache/**");
        if (!stored) {
            PreemptibleConfiguration.get().setStoredWorkspaceMegabytes(0);
        }
        WorkflowRun stage = begin(FILES + counter());
        suspend(stage, 1);
        hosts.connect("B");
        move("B");
        awaitMoved(stage, "A", "B");
        Path there = hosts.workspace("B", "low");
        assertEquals("1\n", Files.readString(there.resolve("part/kept/file")));
        assertFalse(Files.exists(there.resolve("part/cache")));
        assertTrue(Files.exists(hosts.workspace("A", "low").resolve("part/cache/deep/file")));
        endsOn("B", stage);
    }

    /** It would have no folder there. */
    @Test
    void aProcessThatWorksInWhatIsLeftOutStays() throws Exception {
        refuses("cd part/cache/deep\n" + inRoot(), "works in " + hosts.root() + "/workspace/low/part/cache/deep");
    }

    @Test
    @Tag("slow")
    void aProgramInWhatIsLeftOutStays() throws Exception {
        refuses(
                "cp /bin/sleep part/cache/deep/nap; part/cache/deep/nap 1000 & nap=$!\n" + Rig.endless()
                        + "\nkill $nap",
                "The process nap runs " + hosts.root() + "/workspace/low/part/cache/deep/nap");
    }

    private static String inRoot() {
        return Rig.endless().replace("enough", "../../../enough");
    }

    /** Before anything is brought there. */
    private void refuses(String shell, String why) throws Exception {
        PreemptibleConfiguration.get().setMoveExcludes("**/cache/**");
        WorkflowRun stage = begin(FILES + "sh '''set +x\n" + shell + "\n'''");
        suspend(stage, 1);
        hosts.connect("B");
        move("B");
        Rig.awaitLog(stage, why + ", which is left out of what travels");
        assertThat(Rig.log(stage), containsString("Move to B cancelled: "));
        assertEquals(0, hosts.stages("B"));
        assertFalse(Files.exists(hosts.workspace("B", "low")));
        assertThat(Rig.log(stage), not(containsString("Moved from")));
        new CLICommandInvoker(j, "preemptible-resume").invokeWithArgs("low", "1");
        Rig.awaitLog(stage, "Resumed on A");
        endsOn("A", stage);
    }
}
