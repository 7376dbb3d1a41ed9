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
@Tag("acceptance")
class FolderPrioritiesTest {

    @RegisterExtension
    final JenkinsSessionExtension sessions = new JenkinsSessionExtension();

    @RegisterExtension
    final InboundAgentExtension agents = new InboundAgentExtension();

    @BeforeEach
    void suspendable() throws Exception {
        Rig.assumeSuspendable();
    }

    @Test
    void urgentPreemptsItsNamesake() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowRun low = Rig.start(main(rig, j, "calm", 5, Rig.own(Rig.counter(60))));
            Rig.awaitLog(low, "count-10");
            WorkflowRun high = Rig.start(main(rig, j, "urgent", 1, Rig.preemptor()));
            preempted(j, low, high);
        });
    }

    @Test
    void calmDoesNotPreemptItsNamesake() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowRun running = Rig.start(main(rig, j, "urgent", 1, Rig.own(Rig.counter(60))));
            Rig.awaitLog(running, "count-10");
            WorkflowRun waiting = Rig.start(main(rig, j, "calm", 5, Rig.preemptor()));
            j.assertBuildStatusSuccess(j.waitForCompletion(running));
            j.assertBuildStatusSuccess(j.waitForCompletion(waiting));
            assertThat(Rig.log(running), not(containsString("Suspend")));
        });
    }

    /** What waited and what ran before the restart are known by their priorities after it. */
    @Test
    void prioritiesOutliveRestart() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowRun low = Rig.start(main(rig, j, "calm", 5, Rig.own(Rig.counter(300))));
            Rig.awaitLog(low, "count-10");
            // Switched off, so that the urgent one still waits when the controller goes down.
            PreemptibleConfiguration.get().setEnabled(false);
            WorkflowRun high = Rig.start(main(rig, j, "urgent", 1, Rig.preemptor()));
            await().atMost(Rig.PATIENCE).until(() -> j.jenkins.getQueue().getBuildableItems().size() == 1);
            assertThat(Rig.log(high), not(containsString("[preemptible]")));
        });
        Rig.restart(sessions, agents, j -> {
            PreemptibleConfiguration.get().setEnabled(true);
            WorkflowRun low = build(j, "calm");
            WorkflowRun high = build(j, "urgent");
            await().atMost(Rig.PATIENCE)
                    .until(() -> high.getAction(RunPriorityAction.class).priority() == 1);
            j.assertBuildStatusSuccess(j.waitForCompletion(high));
            assertThat(Rig.log(high), containsString("[preemptible]"));
            j.assertBuildStatusSuccess(j.waitForCompletion(low));
            assertThat(Rig.log(low), containsString("Resumed on worker"));
            Rig.counted(low, 300);
        });
    }

    private static void preempted(JenkinsRule j, WorkflowRun low, WorkflowRun high) throws Exception {
        j.assertBuildStatusSuccess(j.waitForCompletion(high));
        assertThat(Rig.log(high), containsString("[preemptible]"));
        j.assertBuildStatusSuccess(j.waitForCompletion(low));
        assertThat(Rig.log(low), containsString("Resumed on worker"));
    }

    private static WorkflowJob main(Rig rig, JenkinsRule j, String folder, int priority, String script)
            throws Exception {
        return rig.pipeline(j.createFolder(folder), "main", priority, script);
    }

    private static WorkflowRun build(JenkinsRule j, String folder) {
        return j.jenkins.getItemByFullName(folder + "/main", WorkflowJob.class).getBuildByNumber(1);
    }
}
