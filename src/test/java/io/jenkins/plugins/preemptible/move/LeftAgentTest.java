package io.jenkins.plugins.preemptible.move;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.slaves.DumbSlave;
import hudson.slaves.WorkspaceList;
import io.jenkins.plugins.preemptible.lifecycle.stage.LeftAgents;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageChanges;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** The process of agent B was killed while it unpacked the workspace of a stage, which is still on agent A. */
@WithJenkins
class LeftAgentTest {

    private static final String ID = "preemptible-12345678";
    private static final Duration LONG = Duration.ofMinutes(2);

    static {
        System.setProperty(LeftAgent.class.getName() + ".delayMillis", "500");
    }

    @TempDir
    Path root;

    private Path workspace;
    private Path temporary;

    @BeforeEach
    void halfMade() throws Exception {
        root = root.toRealPath();
        workspace =
                Files.createDirectories(root.resolve("low/of another build")).getParent();
        temporary = Files.createDirectories(root.resolve("low@tmp/of another build"))
                .getParent();
        for (Path each : List.of(workspace, temporary)) {
            Files.createDirectories(hidden(each).resolve("new/a secret"));
            Files.setPosixFilePermissions(hidden(each), PosixFilePermissions.fromString("rwx------"));
        }
    }

    private static Path hidden(Path place) {
        return place.resolveSibling(".preemptible-aside-" + ID + "-0123456789abcdef-" + place.getFileName());
    }

    /** What B has noted before it began to unpack. */
    private Path note(DumbSlave agent) throws Exception {
        Path notes = Files.createDirectories(Path.of(agent.getRemoteFS(), "preemptible", "unpacked"));
        return Files.writeString(
                notes.resolve(ID + ".json"),
                "{\"folders\":[\"" + workspace + "\",\"" + temporary + "\"],\"attempt\":\"0123456789abcdef\"}");
    }

    private void stageOnA() {
        StageRegistry.get()
                .add(StageRecord.running(
                        ID, StageRecord.Form.OWN, "low#1", "preemptible", "A", workspace.toString(), null, 5, 0));
        StageRegistry.get().update(ID, LeftAgents.holds("B", List.of(temporary.toString())));
    }

    private List<Path> left() throws Exception {
        try (var all = Files.list(root)) {
            return all.sorted().toList();
        }
    }

    @Test
    void whatIsHalfMadeGoesWhenTheAgentConnects(JenkinsRule j) throws Exception {
        DumbSlave agent = j.createSlave("B", null, null);
        Path note = note(agent);
        stageOnA();
        j.waitOnline(agent);
        LeftAgent.schedule(ID, "B", 0);
        // The temporary folder goes as on any agent that a stage has left.
        await("B is clean").atMost(LONG).until(() -> !Files.exists(note) && left().equals(List.of(workspace)));
        assertTrue(Files.exists(workspace.resolve("of another build")));
    }

    /** That build has nothing to do with what is hidden, and keeps what it has. */
    @Test
    void theFoldersOfABuildThatRunsThereStay(JenkinsRule j) throws Exception {
        DumbSlave agent = j.createSlave("B", null, null);
        Path note = note(agent);
        j.waitOnline(agent);
        WorkspaceList.Lease lease =
                agent.toComputer().getWorkspaceList().allocate(agent.createPath(workspace.toString()));
        try {
            stageOnA();
            LeftAgent.schedule(ID, "B", 0);
            await("nothing is hidden").atMost(LONG).until(() -> !Files.exists(note));
            assertEquals(List.of(workspace, temporary), left());
            assertTrue(Files.exists(workspace.resolve("of another build")));
            assertTrue(Files.exists(temporary.resolve("of another build")));
        } finally {
            lease.release();
        }
        await("B is clean").atMost(LONG).until(() -> left().equals(List.of(workspace)));
        assertTrue(Files.exists(workspace.resolve("of another build")));
    }

    /** It may be the very host that may run the stage, under another agent's name. */
    @Test
    void nothingGoesWhileAnotherAgentMayRunTheStage(JenkinsRule j) throws Exception {
        DumbSlave agent = j.createSlave("B", null, null);
        Path note = note(agent);
        stageOnA();
        StageRegistry.get().update(ID, StageChanges.restoringOn("C"));
        j.waitOnline(agent);
        LeftAgent.schedule(ID, "B", 0);
        await("it stays").atMost(LONG).during(Duration.ofSeconds(3)).until(() -> Files.exists(note));
        StageRegistry.get().update(ID, StageChanges.restoringOn(null));
        await("B is clean").atMost(LONG).until(() -> !Files.exists(note) && left().equals(List.of(workspace)));
    }
}
