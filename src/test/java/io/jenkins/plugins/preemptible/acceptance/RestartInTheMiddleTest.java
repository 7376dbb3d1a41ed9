package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.Util;
import hudson.model.Result;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The controller restarts while it is just doing something with a stage.
 *
 * <p>{@link HeldArtifacts} keeps it at that as long as it takes.
 */
@Tag("acceptance")
@Tag("soak")
class RestartInTheMiddleTest extends Restarts {

    /** The executors were given away and the images are not sealed yet: that is done after the restart. */
    @Test
    void inTheMiddleOfASealing() throws Throwable {
        String nested = Rig.nested(Rig.endless(), "sh 'touch after'");
        sessions.then(j -> {
            HeldArtifacts.install();
            PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
            HeldArtifacts.shut();
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            rig.inboundAgent(agents, "other");
            suspendedForPipeline(rig, "own", "linux", Rig.own(Rig.endless()));
            suspendedForPipeline(rig, "nested", "other", nested.replace("'linux'", "'other'"));
            await().atMost(Rig.PATIENCE).until(() -> HeldArtifacts.waiting() == 2);
        });
        agents.stop("other");
        Rig.restart(sessions, agents, j -> {
            HeldArtifacts.install();
            agents.start(j, Rig.inbound("other"));
            for (String form : List.of("own", "nested")) {
                Rig.awaitSealed(build(j, form), 1);
                enough(build(j, "for-" + form), form.equals("own") ? "worker" : "other");
            }
            goneOn(j, build(j, "own"), "worker");
            goneOn(j, build(j, "nested"), "other");
            nothingLeft(j, build(j, "own"), "worker");
            nothingLeft(j, build(j, "nested"), "other");
        });
    }

    /**
     * One stage's image is just being fetched when the controller goes down; another one was restored, but its answer
     * did not arrive: it runs without an executor, and is frozen and sealed anew.
     */
    @Test
    void inTheMiddleOfARestore() throws Throwable {
        List<String> ids = new ArrayList<>();
        List<Path> homes = new ArrayList<>();
        sessions.then(j -> {
            HeldArtifacts.install();
            PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
            Rig rig = new Rig(j);
            homes.add(Path.of(rig.inboundAgent(agents).getRemoteFS(), "preemptible"));
            homes.add(Path.of(rig.inboundAgent(agents, "other").getRemoteFS(), "preemptible"));
            suspendedForPipeline(rig, "fetched", "linux", Rig.own(Rig.endless()));
            suspendedForPipeline(
                    rig, "restored", "other", Rig.own(Rig.endless()).replace("'linux'", "'other'"));
            for (String job : List.of("fetched", "restored")) {
                Rig.awaitSealed(build(j, job), 1);
                ids.add(stageOf(build(j, job)).id());
            }
            await().atMost(Rig.PATIENCE)
                    .until(() -> HostProcesses.controlGroups(ids.get(1)).isEmpty());
            HeldArtifacts.shut();
            Util.deleteRecursive(
                    homes.get(0).resolve("stages/" + ids.get(0) + "/images").toFile());
            enough(build(j, "for-fetched"), "worker");
            await().atMost(Rig.PATIENCE).until(() -> HeldArtifacts.waiting() == 1);
            assertEquals(StageState.RESUMING, stageOf(build(j, "fetched")).state());
        });
        assertEquals(
                Tier.LOCAL_IMAGE,
                Engine.open(homes.get(1))
                        .resumeHere(StageId.parse(ids.get(1)))
                        .orElseThrow()
                        .tier());
        agents.stop("other");
        Rig.restart(sessions, agents, j -> {
            HeldArtifacts.install();
            agents.start(j, Rig.inbound("other"));
            Rig.awaitSealed(build(j, "restored"), 2);
            enough(build(j, "for-restored"), "other");
            Rig.awaitLog(build(j, "fetched"), "from the sealed image in the build's archive");
            goneOn(j, build(j, "fetched"), "worker");
            goneOn(j, build(j, "restored"), "other");
            nothingLeft(j, build(j, "fetched"), "worker");
            nothingLeft(j, build(j, "restored"), "other");
        });
    }

    private static StageRecord stageOf(WorkflowRun run) {
        return StageRegistry.get().all().stream()
                .filter(stage -> stage.runId().equals(run.getExternalizableId()))
                .findFirst()
                .orElseThrow();
    }

    /** A stage ends while its agent is away, and the controller goes down before the agent is back. */
    @Test
    void agentIsCleanedAfterTheRestart() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowRun run = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
            Rig.awaitLog(run, "count-3\n");
            StageRecord stage = Rig.awaitState(StageState.RUNNING);
            agents.stop("worker");
            await().atMost(Rig.PATIENCE)
                    .until(() -> j.jenkins.getComputer("worker").isOffline());
            run.getExecutor().interrupt();
            j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(run));
            await().atMost(Rig.PATIENCE).until(() -> StageRegistry.get().all().isEmpty());
            assertEquals(
                    List.of(stage.id()),
                    StageRegistry.get().leftovers().stream()
                            .map(StageRecord::id)
                            .toList());
        });
        Rig.restart(sessions, agents, j -> nothingLeft(j, build(j, "low"), "worker"));
    }
}
