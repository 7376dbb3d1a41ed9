package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.Util;
import hudson.model.Result;
import hudson.model.Slave;
import io.jenkins.plugins.preemptible.agent.StageOrigin;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Stream;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** An agent is killed, and connects again to a controller that knows only some of the stages that it still has. */
@Tag("acceptance")
class UnknownStagesTest extends Restarts {

    private final Map<String, String> ids = new HashMap<>();
    private Path home;

    @AfterEach
    void endForeignStages() {
        if (home != null) {
            for (StageStatus left : Engine.open(home).list()) {
                Engine.open(home).kill(left.id());
            }
        }
    }

    @Test
    void onlyWhatThisControllerBeganAndForgotIsEnded() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            Slave agent = rig.inboundAgent(agents);
            agent.setNumExecutors(3);
            j.jenkins.setNodes(j.jenkins.getNodes());
            home = Path.of(agent.getRemoteFS(), "preemptible");
            for (String job : List.of("deleted", "ended", "wanted")) {
                WorkflowRun run = Rig.start(rig.pipeline(job, 5, Rig.own(Rig.endless())));
                Rig.awaitLog(run, "count-3\n");
                ids.put(job, stageOf(run).id());
            }
            foreign("foreign", new StageOrigin("another controller", "deleted#1", System.currentTimeMillis()));
            foreign("unnoted", null);
            foreign("future", originOf("deleted#7"));
            foreign("unloaded", originOf("nojob#1"));
            brought("brought", originOf("deleted#1"));
            brought("unpacked", originOf("deleted#1"));
            halfUnpacked("unpacked");
            brought("others", new StageOrigin("another controller", "deleted#1", System.currentTimeMillis()));
            agents.stop("worker");
            await().atMost(Rig.PATIENCE)
                    .until(() -> j.jenkins.getComputer("worker").isOffline());
            WorkflowRun ended = build(j, "ended");
            ended.getExecutor().interrupt();
            j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(ended));
            await().atMost(Rig.PATIENCE).until(() -> StageRegistry.get().find(ids.get("ended")) == null);
        });
        for (String job : List.of("deleted", "ended")) {
            assertTrue(record(job).delete(), "what the controller knows of the stage is lost");
        }
        Util.deleteRecursive(new File(sessions.getHome(), "jobs/deleted/builds/1"));
        sessions.then(j -> {
            agents.start(j, Rig.inbound("worker"));
            Rig.awaitCounting(build(j, "wanted"));
            for (String job : List.of("deleted", "ended")) {
                await(job + " is ended").atMost(Rig.PATIENCE).untilAsserted(() -> {
                    assertEquals(List.of(), HostProcesses.mentioning(ids.get(job)));
                    assertEquals(List.of(), HostProcesses.controlGroups(ids.get(job)));
                    assertEquals("", Rig.mounts(home.resolve("stages").resolve(ids.get(job))));
                    assertTrue(Files.notExists(home.resolve("stages").resolve(ids.get(job))));
                });
            }
            String log = await("the agent's log")
                    .atMost(Rig.PATIENCE)
                    .until(
                            () -> j.jenkins.getComputer("worker").getLog(),
                            text -> Stream.of("unnoted", "brought", "unpacked")
                                    .map(ids::get)
                                    .allMatch(text::contains));
            assertThat(log, containsString(ids.get("deleted") + ", which this controller had begun and knows no more"));
            for (String left : List.of("foreign", "unnoted", "future", "unloaded")) {
                assertThat(log, containsString("Left the stage " + ids.get(left) + " as it is: "));
                assertEquals(
                        State.RUNNING,
                        Engine.open(home).status(StageId.parse(ids.get(left))).state(),
                        left);
            }
            assertThat(log, containsString("Removed what was brought here of the stage " + ids.get("brought")));
            assertTrue(Files.notExists(exchange("brought")));
            assertThat(log, containsString("Removed what was brought here of the stage " + ids.get("unpacked")));
            await("nothing is hidden").atMost(Rig.PATIENCE).until(() -> Files.notExists(hidden("unpacked")));
            assertTrue(Files.exists(workspace().resolve("of a later build")));
            assertTrue(Files.exists(exchange("others").resolve("image.preempt")));
            WorkflowRun wanted = build(j, "wanted");
            Rig.awaitCounting(wanted);
            Rig.enough(wanted);
            j.assertBuildStatusSuccess(j.waitForCompletion(wanted));
            Rig.countedAtLeast(wanted, 4);
        });
    }

    /** The agent's host is another agent's now: what Jenkins waits to clean there a week long is ended at once. */
    @Test
    void aRemovedAgentsStageIsEndedByTheNextAgentOfItsFolder() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            Slave agent = rig.inboundAgent(agents);
            home = Path.of(agent.getRemoteFS(), "preemptible");
            WorkflowRun run = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
            Rig.awaitLog(run, "count-3\n");
            ids.put("low", stageOf(run).id());
            agents.stop("worker");
            await().atMost(Rig.PATIENCE)
                    .until(() -> j.jenkins.getComputer("worker").isOffline());
            run.getExecutor().interrupt();
            j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(run));
            await().atMost(Rig.PATIENCE).until(() -> StageRegistry.get().find(ids.get("low")) == null);
            j.jenkins.removeNode(agent);
            Slave next = agents.createAgent(j, Rig.inbound("next"));
            Path nextHome = Path.of(next.getRemoteFS(), "preemptible");
            agents.stop("next");
            Util.deleteRecursive(nextHome.toFile());
            Files.createSymbolicLink(nextHome, home);
            agents.start(j, Rig.inbound("next"));
            await("nothing is left").atMost(Rig.PATIENCE).untilAsserted(() -> {
                assertEquals(List.of(), HostProcesses.mentioning(ids.get("low")));
                assertEquals(List.of(), HostProcesses.controlGroups(ids.get("low")));
                assertEquals(List.of(), List.copyOf(StageRegistry.get().leftovers()));
            });
        });
    }

    /** What nobody but the engine has begun here, as the agent of another controller would have. */
    private void foreign(String name, StageOrigin origin) throws Exception {
        StageId id = StageId.create(name);
        ids.put(name, id.value());
        if (origin != null) {
            origin.write(home, id);
        }
        Engine.open(home).start(new StageSpec(id, name, home, List.of(), Map.of("PATH", System.getenv("PATH"))));
    }

    /** Of a stage that was to move there only the beginning of its image came. */
    private void brought(String name, StageOrigin origin) throws Exception {
        StageId id = StageId.create(name);
        ids.put(name, id.value());
        origin.write(home, id);
        Files.write(Files.createDirectories(exchange(name)).resolve("image.preempt"), new byte[4096]);
    }

    /** It was killed while it unpacked, and only what is hidden was left of it by the cleaning of then. */
    private void halfUnpacked(String name) throws Exception {
        Util.deleteRecursive(exchange(name).toFile());
        Files.createDirectories(workspace().resolve("of a later build"));
        Files.createDirectories(hidden(name).resolve("new/half made"));
        Files.setPosixFilePermissions(hidden(name), PosixFilePermissions.fromString("rwx------"));
        Files.writeString(
                Files.createDirectories(home.resolve("unpacked")).resolve(ids.get(name) + ".json"),
                "{\"folders\":[\"" + workspace() + "\"],\"attempt\":\"0123456789abcdef\"}");
    }

    private Path workspace() throws Exception {
        return home.toRealPath().resolveSibling("workspace").resolve("half");
    }

    private Path hidden(String name) throws Exception {
        return workspace().resolveSibling(".preemptible-aside-" + ids.get(name) + "-0123456789abcdef-half");
    }

    private Path exchange(String name) {
        return home.resolve("exchange").resolve(ids.get(name));
    }

    private static StageOrigin originOf(String runId) {
        return new StageOrigin(jenkins.model.Jenkins.get().getLegacyInstanceId(), runId, System.currentTimeMillis());
    }

    private File record(String job) {
        return new File(sessions.getHome(), "preemptible-stages/" + ids.get(job) + ".xml");
    }

    private static StageRecord stageOf(WorkflowRun run) {
        return StageRegistry.get().all().stream()
                .filter(stage -> stage.runId().equals(run.getExternalizableId()))
                .findFirst()
                .orElseThrow();
    }
}
