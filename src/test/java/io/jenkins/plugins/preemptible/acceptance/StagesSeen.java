package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import hudson.ExtensionList;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jenkinsci.plugins.workflow.flow.GraphListener;
import org.jenkinsci.plugins.workflow.graph.FlowNode;

/**
 * The stages that a test had, and what is left of them on this host.
 *
 * <ol>
 *   <li>A stage is in the registry from before its body begins until after its end, so each step that begins tells of
 *       the stage around it.
 *   <li>The ids outlive a restart of the controller, and are forgotten before the next test.
 *   <li>Other tests have stages on the same host, so only what bears one of these ids counts.
 * </ol>
 */
final class StagesSeen implements GraphListener.Synchronous {

    private static final Set<String> IDS = ConcurrentHashMap.newKeySet();

    private StagesSeen() {}

    /** Watches all builds of the controller that runs now. */
    static void watch() {
        ExtensionList.lookup(GraphListener.class).add(new StagesSeen());
    }

    static void forget() {
        IDS.clear();
    }

    @Override
    public void onNewHead(FlowNode node) {
        StageRegistry.get().all().forEach(stage -> IDS.add(stage.id()));
    }

    /** No stage of this test, of which there was at least one, has a process or a cgroup. */
    static void assertNothingRuns() {
        assertFalse(IDS.isEmpty(), "the test had no stage");
        await("no process and no cgroup of " + IDS)
                .atMost(Rig.PATIENCE)
                .untilAsserted(() -> assertEquals(List.of(), left()));
    }

    /** Cgroups of the stages, and processes with such a stage's id in their command. */
    private static List<String> left() throws IOException {
        List<String> found = new ArrayList<>();
        try (var cgroups = Files.walk(Path.of("/sys/fs/cgroup"), 6)) {
            cgroups.filter(path -> ofStage(path.getFileName().toString())).forEach(path -> found.add(path.toString()));
        } catch (UncheckedIOException x) {
            // Another cgroup went away while it was looked at.
            found.add(x.toString());
        }
        ProcessHandle.allProcesses()
                .filter(process -> ofStage(process.info().commandLine().orElse("")))
                .forEach(process -> found.add(process.info().toString()));
        return found;
    }

    private static boolean ofStage(String text) {
        return IDS.stream().anyMatch(text::contains);
    }
}
