package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import hudson.Util;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Queue;
import hudson.model.Result;
import hudson.model.Slave;
import hudson.model.User;
import hudson.security.SecurityRealm;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.step.StageTask;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import jenkins.security.QueueItemAuthenticator;
import jenkins.security.QueueItemAuthenticatorProvider;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;
import org.junit.jupiter.api.io.TempDir;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.TestExtension;
import org.jvnet.hudson.test.junit.jupiter.JenkinsSessionExtension;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.core.Authentication;

/**
 * The controller restarts while a stage is suspended: with its executor taken by the preemptor, and with it idle.
 *
 * <p>What the agent has launched outlives the controller, as in production.
 */
@Tag("acceptance")
class RestartTest extends Restarts {

    private static final String CASC = "casc.jenkins.config";

    @TempDir
    private Path folder;

    @RegisterExtension
    static final Periods PERIODS = new Periods().with("lifecycle.RemovedAgent.graceMillis", 15_000);

    /**
     * Pipelines that preempted hold the executors before the restart, and have to get them back after it. One agent for
     * each form of the step.
     */
    @Test
    void executorsTaken() throws Throwable {
        String nested = Rig.nested(Rig.endless(), "sh 'touch after'");
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            rig.inboundAgent(agents, "other");
            suspendedForPipeline(rig, "own", "linux", Rig.own(Rig.endless()));
            suspendedForPipeline(rig, "nested", "other", nested.replace("'linux'", "'other'"));
        });
        agents.stop("other");
        Rig.restart(sessions, agents, j -> {
            agents.start(j, Rig.inbound("other"));
            for (String form : List.of("own", "nested")) {
                WorkflowRun preemptor = build(j, "for-" + form);
                enough(preemptor, form.equals("own") ? "worker" : "other");
                j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
                j.assertLogContains("preemptor is done", preemptor);
            }
            goneOn(j, build(j, "own"), "worker");
            goneOn(j, build(j, "nested"), "other");
            nothingLeft(j, build(j, "own"), "worker");
            nothingLeft(j, build(j, "nested"), "other");
        });
    }

    @Test
    @Tag("slow")
    void nestedExecutorIdle() throws Throwable {
        idle(j -> {}, Rig.nested(Rig.endless(), "sh 'touch after'"), () -> {});
    }

    /** The stage's item waits in the queue when the controller goes down, as the user that its build runs as. */
    @Test
    @Tag("slow")
    void resumingItemOutlivesRestart() throws Throwable {
        JenkinsSessionExtension.Step users = j -> {
            j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
            User.getById("alice", true).save();
        };
        idle(users, Rig.own(Rig.endless()), () -> {
            String queue = Files.readString(sessions.getHome().toPath().resolve("queue.xml"));
            assertThat(queue, containsString(StageTask.class.getName()));
            assertThat(queue, containsString("<auth>alice</auth>"));
        });
    }

    @TestExtension("resumingItemOutlivesRestart")
    public static final class BuildsRunAsAlice extends QueueItemAuthenticatorProvider {
        @Override
        public List<QueueItemAuthenticator> getAuthenticators() {
            return List.of(new QueueItemAuthenticator() {
                @Override
                public Authentication authenticate2(Queue.Task task) {
                    return task instanceof WorkflowJob
                            ? new UsernamePasswordAuthenticationToken(
                                    "alice", "", List.of(SecurityRealm.AUTHENTICATED_AUTHORITY2))
                            : null;
                }
            });
        }
    }

    /**
     * A user asks for a restart while the preemptor runs; it ends, the executor is idle, and nothing is dispatched
     * any more because the controller is about to go down.
     */
    private void idle(JenkinsSessionExtension.Step before, String script, Executable whileDown) throws Throwable {
        sessions.then(j -> {
            before.run(j);
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowJob low = rig.pipeline("low", 5, script);
            FreeStyleProject high = rig.freestyle("high", 1, Rig.untilEnough());
            WorkflowRun victim = Rig.start(low);
            Rig.awaitLog(victim, "count-5\n");
            FreeStyleBuild preemptor = high.scheduleBuild2(0).waitForStart();
            Rig.awaitState(StageState.SUSPENDED);
            endsInQuietDown(j, preemptor);
            Slave agent = (Slave) j.jenkins.getNode("worker");
            await().atMost(Rig.PATIENCE).until(() -> agent.toComputer().countIdle() == 1);
            // The plugin wants the stage back in the first look, and is held off; the second one finds it so.
            Rig.awaitAnotherLook();
            Rig.awaitAnotherLook();
            Queue.getInstance().scheduleMaintenance().get();
            assertEquals(1, agent.toComputer().countIdle(), "nothing is dispatched before the restart");
            Rig.awaitState(StageState.SUSPENDED);
        });
        whileDown.execute();
        Rig.restart(sessions, agents, j -> {
            goneOn(j, build(j, "low"), "worker");
            nothingLeft(j, build(j, "low"), "worker");
        });
    }

    /** The preemptor ends when nothing is dispatched any more: the stage stays suspended. */
    private static void endsInQuietDown(JenkinsRule j, FreeStyleBuild preemptor) throws Exception {
        j.jenkins.doQuietDown();
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
    }

    /** Another build of the job waits already when the controller comes up, and there is an executor for it. */
    @Test
    @Tag("slow")
    void workspaceOfSuspendedStageIsNotTaken() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            Slave agent = rig.inboundAgent(agents);
            WorkflowJob low = rig.pipeline(
                    "low",
                    5,
                    "if (env.BUILD_NUMBER == '1') { " + Rig.own(Rig.endless())
                            + " } else { node('linux') { sh 'sleep 2' } }");
            WorkflowRun victim = Rig.start(low);
            Rig.awaitLog(victim, "count-5\n");
            FreeStyleBuild preemptor = rig.freestyle("high", 1, Rig.untilEnough())
                    .scheduleBuild2(0)
                    .waitForStart();
            Rig.awaitState(StageState.SUSPENDED);
            Rig.awaitLog(Rig.start(low), "[Pipeline] node");
            await().atMost(Rig.PATIENCE)
                    .until(() -> j.jenkins.getQueue().getBuildableItems().size() == 1);
            endsInQuietDown(j, preemptor);
            agent.setNumExecutors(2);
            agent.save();
        });
        Rig.restart(sessions, agents, j -> {
            WorkflowRun other =
                    j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(2);
            j.assertBuildStatusSuccess(j.waitForCompletion(other));
            j.assertLogContains("/workspace/low@2", other);
            WorkflowRun victim = build(j, "low");
            Rig.awaitLog(victim, "Resumed on worker");
            Rig.enough(victim);
            j.assertBuildStatusSuccess(j.waitForCompletion(victim));
            Rig.countedAtLeast(victim, 5);
            Rig.assertNothingLeft((Slave) j.jenkins.getNode("worker"), victim.getParent());
        });
    }

    /** A stage whose build is gone must not hold its agent for ever. */
    @Test
    @Tag("soak")
    void lostBuildDoesNotBlockItsAgent() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowRun victim = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
            Rig.awaitLog(victim, "count-5\n");
            FreeStyleBuild preemptor = rig.freestyle("high", 1, Rig.untilEnough())
                    .scheduleBuild2(0)
                    .waitForStart();
            Rig.awaitState(StageState.SUSPENDED);
            endsInQuietDown(j, preemptor);
        });
        Util.deleteRecursive(new File(sessions.getHome(), "jobs/low"));
        Rig.restart(sessions, agents, j -> {
            FreeStyleBuild next = j.jenkins
                    .getItemByFullName("high", FreeStyleProject.class)
                    .scheduleBuild2(0)
                    .waitForStart();
            Rig.enough(next);
            j.assertBuildStatusSuccess(j.waitForCompletion(next));
            assertEquals(List.of(), List.copyOf(StageRegistry.get().all()));
            Slave agent = (Slave) j.jenkins.getNode("worker");
            await().atMost(Rig.PATIENCE)
                    .untilAsserted(() -> assertEquals(
                            List.of(),
                            Engine.open(Path.of(agent.getRemoteFS(), "preemptible"))
                                    .list()));
        });
    }

    /** Nobody removes it, and its configuration is gone when the controller comes up. */
    @Test
    @Tag("slow")
    void lostAgentEndsTheBuild() throws Throwable {
        lostAgent(() -> Util.deleteRecursive(new File(sessions.getHome(), "nodes/worker")));
    }

    /** Jenkins tells that it is removed before any build is loaded. */
    @Test
    @Tag("slow")
    void anAgentThatConfigurationAsCodeHasNoMoreEndsTheBuild() throws Throwable {
        Path code = Files.writeString(folder.resolve("jenkins.yaml"), "jenkins:\n  nodes: []\n");
        try {
            lostAgent(() -> System.setProperty(CASC, code.toString()));
        } finally {
            System.clearProperty(CASC);
        }
    }

    /** The build says when it ends, ends, and says why. */
    private void lostAgent(Executable whileDown) throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowRun victim = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
            Rig.awaitLog(victim, "count-5\n");
            FreeStyleBuild preemptor = rig.freestyle("high", 1, Rig.untilEnough())
                    .scheduleBuild2(0)
                    .waitForStart();
            Rig.awaitState(StageState.SUSPENDED);
            Rig.awaitSealed(victim, 1);
            endsInQuietDown(j, preemptor);
        });
        whileDown.execute();
        sessions.then(j -> {
            assertNull(j.jenkins.getNode("worker"));
            WorkflowRun victim = build(j, "low");
            j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
            j.assertLogContains("The agent 'worker' was removed from Jenkins. This stage ends in ", victim);
            j.assertLogContains("The agent 'worker' was removed while the stage was suspended on it", victim);
            await().atMost(Rig.PATIENCE)
                    .untilAsserted(() -> assertEquals(
                            List.of(), List.copyOf(StageRegistry.get().all())));
            StagesSeen.assertNothingRuns();
        });
    }
}
