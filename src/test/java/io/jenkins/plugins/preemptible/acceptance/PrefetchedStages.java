package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.cli.CLICommandInvoker;
import hudson.model.Node;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.move.MoveTargets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.JenkinsRule;

/** Tests in which agent A is drained, and the image of its stage goes to B while it is still being made. */
abstract class PrefetchedStages extends MovedStages {

    @RegisterExtension
    static final Periods PERIODS =
            new Periods().with("move.LeftAgent.delayMillis", 500).with("move.Prefetch.keptMillis", 5_000);

    /** Large enough to be seen while it is made. */
    static final String COUNTS = "sh '''set +x\nx=$(head -c 80000000 /dev/urandom | base64 -w 0)\n" + Rig.endless()
            + "\necho \"${#x}\"\n'''";

    @BeforeEach
    void roomInMemory() {
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
    }

    static void command(String... words) {
        command(j, words);
    }

    static void command(JenkinsRule controller, String... words) {
        String name = words[0];
        String[] rest = Arrays.copyOfRange(words, 1, words.length);
        CLICommandInvoker.Result said = new CLICommandInvoker(controller, name).invokeWithArgs(rest);
        assertEquals(0, said.returnCode(), said::stderr);
    }

    Path exchangeOnB() {
        return hosts.folder("B").resolve("preemptible/exchange").resolve(record().id());
    }

    /** Waits until B has something of the image, and tells whether it is still being made then. */
    boolean isThereWhileItIsMade() {
        Path image = exchangeOnB().resolve("image.preempt");
        boolean[] made = new boolean[1];
        await("an image on B")
                .atMost(LONG)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(2))
                .until(() -> {
                    StageRecord now = record();
                    made[0] = now.state() == StageState.SUSPENDED && now.frozen();
                    return Files.exists(image);
                });
        return made[0];
    }

    void awaitNothingOnB() {
        Path folder = exchangeOnB();
        await("nothing of it on B").atMost(LONG).until(() -> !Files.exists(folder));
        await("that is known").atMost(LONG).until(() -> LeftAgents.of(record()).isEmpty());
        assertEquals(0, hosts.stages("B"));
    }

    /** Until that is known no image goes there early: it is looked at once only. */
    static void awaitFits(Node agent) {
        LiveStage live = LiveStage.find(record().id());
        await(agent.getNodeName() + " is known to fit")
                .atMost(LONG)
                .until(() -> MoveTargets.obstacleOnceSealed(record(), live, agent) == null);
    }

    /** Begins a stage on A and drains that, with B beside it. */
    WorkflowRun drained(String body) throws Exception {
        WorkflowRun stage = begin(body);
        awaitFits(hosts.connect("B"));
        command("preemptible-drain", "A");
        return stage;
    }
}
