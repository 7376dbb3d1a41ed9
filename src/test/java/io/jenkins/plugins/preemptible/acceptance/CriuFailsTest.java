package io.jenkins.plugins.preemptible.acceptance;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.EnvVars;
import hudson.model.FreeStyleBuild;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.view.SuspendedBadgeAction;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** CRIU itself fails at a dump, after the stage's executor was handed over. */
@WithJenkins
@Tag("acceptance")
class CriuFailsTest extends OneAgent {

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("lifecycle.Sealing.retryMillis", 3000);

    private static final long FOUR_MINUTES_MILLIS = 240_000;

    @TempDir
    private static Path folder;

    private WorkflowJob low;
    private WorkflowRun victim;
    private FreeStyleBuild preemptor;
    private StageRecord stage;

    /** CRIU, but for dumps while there is a file "fails" beside it. */
    @Override
    EnvVars agentEnvironment() {
        try {
            // The first one that is installed may be too old for this kernel.
            Path criu = new CriuSearch().usable().map(Criu::program).orElse(Path.of("/bin/false"));
            Path standIn = folder.resolve("criu");
            Files.writeString(standIn, """
                    #!/bin/sh
                    case " $* " in
                      *" dump "*)
                        if [ -e %s ]; then echo 'Error (of a test): the dump fails' >&2; exit 1; fi ;;
                    esac
                    exec %s "$@"
                    """.formatted(folder.resolve("fails"), criu));
            Files.setPosixFilePermissions(standIn, PosixFilePermissions.fromString("rwxr-xr-x"));
            return new EnvVars("PREEMPTIBLE_CRIU", standIn.toString());
        } catch (java.io.IOException x) {
            throw new java.io.UncheckedIOException(x);
        }
    }

    @BeforeEach
    void atOnce() {
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
    }

    private void suspended() throws Exception {
        low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        Files.createFile(folder.resolve("fails"));
        preemptor =
                rig.freestyle("high", 1, Rig.untilEnough()).scheduleBuild2(0).waitForStart();
        stage = Rig.awaitState(StageState.SUSPENDED);
    }

    private void goesOn() throws Exception {
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
        Rig.awaitLog(victim, "Resumed on worker");
        Rig.awaitCounting(victim);
    }

    private void endsWell() throws Exception {
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
        Rig.assertNothingLeft(agent, low);
    }

    /** The stage is resumed from its frozen processes, and is left alone for a while; its page promises no image. */
    @Test
    void twice() throws Exception {
        suspended();
        Rig.awaitLog(victim, "The image could not be sealed.", 2);
        Rig.awaitLog(victim, "No image is made: a restart of the agent's host loses the stage.");
        String page = victim.getAction(SuspendedBadgeAction.class).getTooltip();
        assertThat(page, containsString("no image of it could be made"));
        assertThat(page, not(containsString("until its image is sealed")));
        Files.delete(folder.resolve("fails"));
        goesOn();
        assertThat(Rig.log(victim), containsString("from the processes that were still frozen"));
        assertTrue(retryAfterMillis() > FOUR_MINUTES_MILLIS, "it is spared for five minutes");
        endsWell();
    }

    /** The second attempt succeeds: that the first failed has no consequence. */
    @Test
    void once() throws Exception {
        suspended();
        Rig.awaitLog(victim, "The image could not be sealed.");
        Files.delete(folder.resolve("fails"));
        Rig.awaitSealed(victim, 1);
        goesOn();
        assertTrue(retryAfterMillis() <= 0, "it may be suspended again");
        endsWell();
    }

    /** In how many milliseconds it may be suspended again. */
    private long retryAfterMillis() {
        return LiveStage.find(stage.id()).retryAfterMillis() - System.currentTimeMillis();
    }
}
