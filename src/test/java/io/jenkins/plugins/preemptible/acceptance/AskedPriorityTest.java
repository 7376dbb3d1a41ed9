package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.cloudbees.hudson.plugins.folder.Folder;
import io.jenkins.plugins.preemptible.config.FolderBestPriority;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.queue.LastDecision;
import java.util.ArrayList;
import java.util.List;
import jenkins.advancedqueue.PriorityConfiguration;
import jenkins.model.ModifiableTopLevelItemGroup;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** What a step's {@code priority} is worth where Priority Sorter is installed and nobody has configured it. */
@WithJenkins
@Tag("acceptance")
class AskedPriorityTest extends OneAgent {

    @BeforeEach
    void nobodyHasConfiguredTheSorter() {
        PriorityConfiguration.get().setJobGroups(new ArrayList<>());
    }

    /** The README's example: a stage makes itself less urgent, and an ordinary build waits. */
    @Test
    void aStageOfLowerPriorityGivesWayToAnOrdinaryBuild() throws Exception {
        WorkflowJob low = job(j.jenkins, "low", asking(4, Rig.endless()));
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        WorkflowRun ordinary = Rig.start(job(j.jenkins, "ordinary", Rig.preemptor()));
        j.assertBuildStatusSuccess(j.waitForCompletion(ordinary));
        assertThat(
                Rig.log(victim),
                containsString("Suspending this stage for part of ordinary #1: An item of higher priority"));
        assertThat(Rig.log(victim), not(containsString("This stage asks for priority")));
        Rig.awaitLog(victim, "Resumed on worker");
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 4);
    }

    /** A step does not get ahead of everybody by asking for it; where its folder allows that, it does. */
    @Test
    void aStepJumpsTheQueueOnlyWhereItsFolderAllowsThat() throws Exception {
        WorkflowRun running = Rig.start(job(j.jenkins, "ordinary", Rig.own(Rig.endless())));
        Rig.awaitLog(running, "count-3\n");
        assertEquals(3, Rig.awaitState(StageState.RUNNING).priority());

        Folder bold = j.createProject(Folder.class, "bold");
        WorkflowRun waiting = Rig.start(job(bold, "asks", asking(1, "echo served")));
        Rig.awaitLog(
                waiting,
                "[preemptible] This stage asks for priority 1 and gets 3: the global configuration lets no step ask for"
                        + " better than 3. Ask for 3, or ask an administrator to change that limit.");
        await("it was decided about the item")
                .atMost(Rig.PATIENCE)
                .until(() -> LastDecision.get().actions().stream()
                        .anyMatch(action -> action.reason() == Reason.NO_LOWER_PRIORITY));
        assertEquals(List.of(3), waitingPriorities());
        waiting.doStop();
        j.waitForCompletion(waiting);
        assertThat(Rig.log(running), not(containsString("Suspending")));

        bold.addProperty(new FolderBestPriority(2));
        WorkflowRun served = Rig.start(bold.getItem("asks") instanceof WorkflowJob asks ? asks : null);
        Rig.awaitLog(served, "asks for priority 1 and gets 2: the folder 'bold' lets no step ask for better than 2.");
        j.assertBuildStatusSuccess(j.waitForCompletion(served));
        assertThat(Rig.log(running), containsString("Suspending this stage for stage"));
        Rig.awaitLog(running, "Resumed on worker");
        Rig.enough(running);
        j.assertBuildStatusSuccess(j.waitForCompletion(running));
    }

    /** The same for a stage inside of {@code node}, which itself waits with its build's priority. */
    @Test
    void aNestedStageHasWhatItsStepAsksForAsFarAsAllowed() throws Exception {
        String script =
                "node('linux') { preemptible(priority: 5) { sh 'sleep 3' }; preemptible(priority: 2) { sh 'sleep 3' } }";
        WorkflowRun run = Rig.start(job(j.jenkins, "nested", script));
        assertEquals(5, Rig.awaitState(StageState.RUNNING).priority());
        Rig.awaitLog(run, "asks for priority 2 and gets 3");
        await("the second stage")
                .atMost(Rig.PATIENCE)
                .until(() -> Rig.awaitState(StageState.RUNNING).priority() == 3);
        j.assertBuildStatusSuccess(j.waitForCompletion(run));
        assertEquals(1, Rig.log(run).split("This stage asks for", -1).length - 1, "said once");
    }

    private static List<Integer> waitingPriorities() {
        Snapshot seen = LastDecision.get().snapshot();
        assertTrue(seen != null, "something was decided");
        return seen.waiting().stream().map(Snapshot.WaitingItem::priority).toList();
    }

    private static String asking(int priority, String shell) {
        return "preemptible(label: 'linux', priority: " + priority + ") { sh '''set +x\n" + shell + "\n''' }";
    }

    /** A job of which nobody has told Priority Sorter anything. */
    private WorkflowJob job(ModifiableTopLevelItemGroup folder, String name, String script) throws Exception {
        WorkflowJob job = (WorkflowJob)
                folder.createProject(j.jenkins.getDescriptorByType(WorkflowJob.DescriptorImpl.class), name, true);
        job.setDefinition(new CpsFlowDefinition(script, true));
        return job;
    }
}
