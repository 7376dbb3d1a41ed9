package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.Util;
import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Queue;
import hudson.model.Result;
import hudson.model.Slave;
import hudson.model.User;
import hudson.security.SecurityRealm;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.Tier;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.lifecycle.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.StageRegistry;
import io.jenkins.plugins.preemptible.step.StageTask;
import java.io.File;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import jenkins.model.Jenkins;
import jenkins.security.QueueItemAuthenticator;
import jenkins.security.QueueItemAuthenticatorProvider;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.function.Executable;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.TestExtension;
import org.jvnet.hudson.test.junit.jupiter.InboundAgentExtension;
import org.jvnet.hudson.test.junit.jupiter.JenkinsSessionExtension;
import org.springframework.security.authentication.UsernamePasswordAuthenticationToken;
import org.springframework.security.core.Authentication;

/**
 * The controller restarts while a stage is suspended: with its executor taken by the preemptor, and with it idle.
 *
 * <p>What the agent has launched outlives the controller, as in production.
 */
@Tag("acceptance")
class RestartTest {

    static {
        System.setProperty("io.jenkins.plugins.preemptible.lifecycle.RemovedAgent.graceMillis", "3000");
    }

    @RegisterExtension
    final JenkinsSessionExtension sessions = new JenkinsSessionExtension();

    @RegisterExtension
    final InboundAgentExtension agents = new InboundAgentExtension();

    @BeforeEach
    void suspendable() throws Exception {
        Rig.assumeSuspendable();
    }

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

    private static void suspendedForPipeline(Rig rig, String form, String label, String script) throws Exception {
        WorkflowRun victim = Rig.start(rig.pipeline(form, 5, script));
        Rig.awaitLog(victim, "count-5\n");
        WorkflowRun preemptor = Rig.start(rig.pipeline("for-" + form, 1, "node('" + label + "') { sh 'echo it runs; "
                + "while [ ! -e enough ]; do sleep 0.2; done; echo preemptor is done' }"));
        Rig.awaitLog(preemptor, "it runs\n");
        Rig.awaitLog(victim, "has the executor");
    }

    private static void enough(WorkflowRun preemptor, String agent) throws Exception {
        Jenkins.get().getNode(agent).getRootPath().child("workspace/" + preemptor.getParent().getName() + "/enough")
                .touch(System.currentTimeMillis());
    }

    @Test
    void nestedExecutorIdle() throws Throwable {
        idle(j -> {}, Rig.nested(Rig.endless(), "sh 'touch after'"), () -> {});
    }

    /** The stage's item waits in the queue when the controller goes down, as the user that its build runs as. */
    @Test
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
     * Somebody asks for a restart while the preemptor runs; it ends, the executor is idle, and nothing is dispatched
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
            j.jenkins.doQuietDown();
            Rig.enough(preemptor);
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
            Slave agent = (Slave) j.jenkins.getNode("worker");
            await().atMost(Rig.PATIENCE).until(() -> agent.toComputer().countIdle() == 1);
            // Long enough for the plugin to want the stage back, and to be held off.
            Thread.sleep(6_000);
            assertEquals(1, agent.toComputer().countIdle(), "nothing is dispatched before the restart");
            Rig.awaitState(StageState.SUSPENDED);
        });
        whileDown.execute();
        Rig.restart(sessions, agents, j -> {
            goneOn(j, build(j, "low"), "worker");
            nothingLeft(j, build(j, "low"), "worker");
        });
    }

    /** Another build of the job waits already when the controller comes up, and there is an executor for it. */
    @Test
    void workspaceOfSuspendedStageIsNotTaken() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            Slave agent = rig.inboundAgent(agents);
            WorkflowJob low = rig.pipeline("low", 5, "if (env.BUILD_NUMBER == '1') { "
                    + Rig.own(Rig.endless()) + " } else { node('linux') { sh 'sleep 2' } }");
            WorkflowRun victim = Rig.start(low);
            Rig.awaitLog(victim, "count-5\n");
            FreeStyleBuild preemptor =
                    rig.freestyle("high", 1, Rig.untilEnough()).scheduleBuild2(0).waitForStart();
            Rig.awaitState(StageState.SUSPENDED);
            Rig.awaitLog(Rig.start(low), "[Pipeline] node");
            await().atMost(Rig.PATIENCE).until(() -> j.jenkins.getQueue().getBuildableItems().size() == 1);
            j.jenkins.doQuietDown();
            Rig.enough(preemptor);
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
            agent.setNumExecutors(2);
            agent.save();
        });
        Rig.restart(sessions, agents, j -> {
            WorkflowRun other = j.jenkins.getItemByFullName("low", WorkflowJob.class).getBuildByNumber(2);
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
                Rig.awaitLog(build(j, form), "Image sealed");
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
            suspendedForPipeline(rig, "restored", "other", Rig.own(Rig.endless()).replace("'linux'", "'other'"));
            for (String job : List.of("fetched", "restored")) {
                Rig.awaitLog(build(j, job), "Image sealed");
                ids.add(stageOf(build(j, job)).id());
            }
            await().atMost(Rig.PATIENCE).until(() -> HostProcesses.controlGroups(ids.get(1)).isEmpty());
            HeldArtifacts.shut();
            Util.deleteRecursive(homes.get(0).resolve("stages/" + ids.get(0) + "/images").toFile());
            enough(build(j, "for-fetched"), "worker");
            await().atMost(Rig.PATIENCE).until(() -> HeldArtifacts.waiting() == 1);
            assertEquals(StageState.RESUMING, stageOf(build(j, "fetched")).state());
        });
        assertEquals(Tier.LOCAL_IMAGE, Engine.open(homes.get(1)).resumeHere(StageId.parse(ids.get(1))).orElseThrow().tier());
        agents.stop("other");
        Rig.restart(sessions, agents, j -> {
            HeldArtifacts.install();
            agents.start(j, Rig.inbound("other"));
            Rig.awaitLog(build(j, "restored"), "Image sealed", 2);
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
            await().atMost(Rig.PATIENCE).until(() -> j.jenkins.getComputer("worker").isOffline());
            run.getExecutor().interrupt();
            j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(run));
            await().atMost(Rig.PATIENCE).until(() -> StageRegistry.get().all().isEmpty());
            assertEquals(
                    List.of(stage.id()),
                    StageRegistry.get().leftovers().stream().map(StageRecord::id).toList());
        });
        Rig.restart(sessions, agents, j -> nothingLeft(j, build(j, "low"), "worker"));
    }

    /** A stage whose build is gone must not hold its agent for ever. */
    @Test
    void lostBuildDoesNotBlockItsAgent() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowRun victim = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
            Rig.awaitLog(victim, "count-5\n");
            rig.freestyle("high", 1, "sleep 5").scheduleBuild2(0).waitForStart();
            Rig.awaitState(StageState.SUSPENDED);
        });
        Util.deleteRecursive(new File(sessions.getHome(), "jobs/low"));
        Rig.restart(sessions, agents, j -> {
            j.assertBuildStatusSuccess(j.jenkins
                    .getItemByFullName("high", FreeStyleProject.class)
                    .scheduleBuild2(0)
                    .get(60, TimeUnit.SECONDS));
            assertEquals(List.of(), List.copyOf(StageRegistry.get().all()));
            Slave agent = (Slave) j.jenkins.getNode("worker");
            await().atMost(Rig.PATIENCE)
                    .untilAsserted(() -> assertEquals(
                            List.of(),
                            Engine.open(Path.of(agent.getRemoteFS(), "preemptible")).list()));
        });
    }

    /** The agent's configuration is gone when the controller comes up: the build ends and says why. */
    @Test
    void lostAgentEndsTheBuild() throws Throwable {
        sessions.then(j -> {
            Rig rig = new Rig(j);
            rig.inboundAgent(agents);
            WorkflowRun victim = Rig.start(rig.pipeline("low", 5, Rig.own(Rig.endless())));
            Rig.awaitLog(victim, "count-5\n");
            rig.freestyle("high", 1, "sleep 5").scheduleBuild2(0).waitForStart();
            Rig.awaitState(StageState.SUSPENDED);
        });
        Util.deleteRecursive(new File(sessions.getHome(), "nodes/worker"));
        sessions.then(j -> {
            WorkflowRun victim = build(j, "low");
            j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
            j.assertLogContains("did not come back after the restart", victim);
            await().atMost(Rig.PATIENCE)
                    .untilAsserted(() -> assertEquals(List.of(), List.copyOf(StageRegistry.get().all())));
            Rig.assertNothingRuns();
        });
    }

    private static void goneOn(JenkinsRule j, WorkflowRun victim, String node) throws Exception {
        Rig.awaitLog(victim, "Resumed on " + node);
        Rig.awaitCounting(victim);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        Rig.countedAtLeast(victim, 6);
    }

    private static void nothingLeft(JenkinsRule j, WorkflowRun victim, String node) throws Exception {
        Slave agent = (Slave) j.jenkins.getNode(node);
        Rig.assertNothingLeft(agent, victim.getParent());
        await().atMost(Rig.PATIENCE).until(() -> agent.toComputer().countIdle() == 1);
    }

    private static WorkflowRun build(JenkinsRule j, String job) {
        return j.jenkins.getItemByFullName(job, WorkflowJob.class).getBuildByNumber(1);
    }
}
