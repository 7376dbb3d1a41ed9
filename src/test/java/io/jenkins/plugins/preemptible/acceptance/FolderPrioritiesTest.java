package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;

import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.queue.RunPriorityAction;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.InboundAgentExtension;
import org.jvnet.hudson.test.junit.jupiter.JenkinsSessionExtension;

/**
 * Jobs of one name in two folders keep their own priorities, as the {@code main} branches of all multibranch projects
 * must; Priority Sorter's own cache knows builds by short name and number only.
 */
@Tag("soak")
class FolderPrioritiesTest {

    @RegisterExtension
    final JenkinsSessionExtension sessions = new JenkinsSessionExtension();

    @RegisterExtension
    final InboundAgentExtension agents = new InboundAgentExtension();

    @BeforeEach
    void suspendable() throws Exception {
        Rig.assumeSuspendable();
    }

    /** What waited and what ran before the restart are known by their priorities after it, too. */
    @Test
    void namesakesKeepTheirPriorities() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowJob calm = main(rig, j, "calm", 5, Rig.own(Rig.endless()));
            WorkflowJob urgent = main(rig, j, "urgent", 1, Rig.preemptor());
            WorkflowJob alsoUrgent = main(rig, j, "also-urgent", 1, Rig.own(Rig.counter(30)));
            calmWaits(j, Rig.start(alsoUrgent), main(rig, j, "also-calm", 5, Rig.preemptor()));
            urgentPreempts(j, Rig.start(calm), urgent);

            WorkflowRun low = Rig.start(calm);
            Rig.awaitLog(low, "count-3\n");
            // Switched off, so that the urgent one still waits when the controller goes down.
            PreemptibleConfiguration.get().setEnabled(false);
            WorkflowRun high = Rig.start(urgent);
            await().atMost(Rig.PATIENCE)
                    .until(() -> j.jenkins.getQueue().getBuildableItems().size() == 1);
            assertThat(Rig.log(high), not(containsString("[preemptible]")));
        });
        Rig.restart(sessions, agents, j -> {
            PreemptibleConfiguration.get().setEnabled(true);
            WorkflowRun low = last(j, "calm");
            WorkflowRun high = last(j, "urgent");
            await().atMost(Rig.PATIENCE)
                    .until(() -> high.getAction(RunPriorityAction.class).priority() == 1);
            j.assertBuildStatusSuccess(j.waitForCompletion(high));
            assertThat(Rig.log(high), containsString("[preemptible]"));
            goneOn(j, low);
        });
    }

    private static void calmWaits(JenkinsRule j, WorkflowRun running, WorkflowJob calm) throws Exception {
        Rig.awaitLog(running, "count-3\n");
        WorkflowRun waiting = Rig.start(calm);
        j.assertBuildStatusSuccess(j.waitForCompletion(running));
        j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
        assertThat(Rig.log(running), not(containsString("Suspend")));
    }

    private static void urgentPreempts(JenkinsRule j, WorkflowRun low, WorkflowJob urgent) throws Exception {
        Rig.awaitLog(low, "count-3\n");
        WorkflowRun high = Rig.start(urgent);
        j.assertBuildStatusSuccess(j.waitForCompletion(high));
        assertThat(Rig.log(high), containsString("[preemptible]"));
        goneOn(j, low);
    }

    private static void goneOn(JenkinsRule j, WorkflowRun low) throws Exception {
        Rig.awaitLog(low, "Resumed on worker");
        Rig.enough(low);
        j.assertBuildStatusSuccess(j.waitForCompletion(low));
        Rig.countedAtLeast(low, 3);
    }

    private static WorkflowJob main(Rig rig, JenkinsRule j, String folder, int priority, String script)
            throws Exception {
        return rig.pipeline(j.createFolder(folder), "main", priority, script);
    }

    private static WorkflowRun last(JenkinsRule j, String folder) {
        return j.jenkins.getItemByFullName(folder + "/main", WorkflowJob.class).getLastBuild();
    }
}
