package io.jenkins.plugins.preemptible;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.jenkins.plugins.preemptible.lifecycle.image.DiskFloorMonitor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * The names of classes that Jenkins saves. What was saved under another name cannot be read any more, or builds that were
 * running before an upgrade cannot continue.
 */
class SavedNamesTest {

    private static void exists(String name) throws ClassNotFoundException {
        String full = "io.jenkins.plugins.preemptible." + name;
        assertEquals(
                full,
                Class.forName(full, false, SavedNamesTest.class.getClassLoader())
                        .getName());
    }

    /** No alias helps there: JBoss Marshalling looks for exactly these classes. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "step.OwnExecutorExecution",
                "step.NestedExecution",
                "step.PreemptibleStep",
                "step.ActiveTimeout",
                "step.StageBody",
                "step.OwnBody",
                "step.StageContext",
                "step.StageSettings",
                "step.StageTask",
                "step.SandboxDecorator",
                "step.AwaitedSandbox",
                "declarative.PreemptibleAgent"
            })
    void ofRunningPipelines(String name) throws Exception {
        exists(name);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "hand.NeverPreemptAction",
                "queue.RunPriorityAction",
                "history.SuspensionHistoryAction",
                "history.PastStage",
                "history.PastSuspension",
                "lifecycle.ToldInMemoryOnly",
                "view.PreemptorAction",
                "view.WaitReasonAction",
                "view.ResumedStageAction",
                "view.SuspendedStageAction",
                "step.OwnExecutorExecution$InQueue",
                "step.OwnExecutorExecution$QueueItemCancelled",
                "step.AfterRestart$AgentNotBack",
                "step.RunAgain",
                "lifecycle.Resumption$NotRestored",
                "lifecycle.Sealing$NotSealed",
                "lifecycle.ActiveTimeouts$Exceeded",
                "lifecycle.RemovedAgent$AgentRemoved"
            })
    void ofBuildsAndQueueItems(String name) throws Exception {
        exists(name);
    }

    /** Those of stages have aliases beside them: see StageRegistryTest and KeepingStrategyTest. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "hand.DrainedAgents$Stored",
                "hand.DrainedAgents$Drain",
                "history.DailyStatistics$Stored",
                "history.DayCounts",
                "lifecycle.stage.Checkpoints",
                "lifecycle.stage.StageCheckpoint"
            })
    void ofFilesInJenkinsHome(String name) throws Exception {
        exists(name);
    }

    /** Jenkins saves by their ids which monitors were dismissed. */
    @Test
    void ofDismissedMonitors() {
        assertEquals("io.jenkins.plugins.preemptible.lifecycle.DiskFloorMonitor", new DiskFloorMonitor().id);
    }

    /** The owner's name is part of a permission's id, which matrices save. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "hand.PreemptiblePermissions",
                "config.PreemptibleConfiguration",
                "config.FolderBestPriority",
                "config.FolderDefaults",
                "config.JobDefaults",
                "config.StageDefaults",
                "config.SliceRule",
                "config.UndisturbedHours",
                "config.OwnerBy",
                "overview.PreemptibleNodeMonitor"
            })
    void ofSettingsAndPermissions(String name) throws Exception {
        exists(name);
    }
}
