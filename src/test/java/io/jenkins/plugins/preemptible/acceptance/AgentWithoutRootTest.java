package io.jenkins.plugins.preemptible.acceptance;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import hudson.model.FreeStyleBuild;
import hudson.model.FreeStyleProject;
import hudson.model.Result;
import hudson.slaves.DumbSlave;
import hudson.slaves.RetentionStrategy;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedInstall;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.lifecycle.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.StageRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.UUID;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.SimpleCommandLauncher;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** On an agent whose process runs as an ordinary user, with the privileged part really installed for that user. */
@WithJenkins
@Tag("acceptance")
class AgentWithoutRootTest extends OneAgent {

    private static final String MARK = UUID.randomUUID().toString().substring(0, 8);
    private static final String USER = "pt" + MARK;
    private static final Path BASE = Path.of("/var/lib/preemptible-test-" + MARK);
    private static final PrivilegedInstall PLACE = new PrivilegedInstall(
            BASE.resolve("libexec/preemptible"), BASE.resolve("store"), Path.of("/etc/sudoers.d/preemptible-test-" + MARK));

    @Override
    void assumptions() throws Exception {
        super.assumptions();
        assumeTrue(HostProcess.isRoot(), "only root can install the privileged part");
        for (String tool : List.of("sudo", "visudo", "useradd", "userdel", "setpriv", "cc", "chown")) {
            assumeTrue(HostTool.find(tool).isPresent(), "there is no " + tool + " on this host");
        }
    }

    @Override
    DumbSlave agentToTest() throws Exception {
        Files.createDirectory(BASE, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
        Path home = Files.createDirectory(BASE.resolve("home"));
        root("useradd", "-r", "-M", "-d", home.toString(), "-s", "/bin/sh", USER);
        root("chown", USER + ":", home.toString());
        PLACE.install(USER, List.of());
        Path jar = BASE.resolve("agent.jar");
        Files.copy(j.jenkins.getJnlpJars("agent.jar").getURL().openStream(), jar);
        String command = String.join(
                " ", tool("setpriv"), "--reuid", USER, "--regid", USER, "--init-groups", "--inh-caps=-all", tool("env"),
                "HOME=" + home, "PREEMPTIBLE_PRIVILEGED=" + PLACE.program(), System.getProperty("java.home") + "/bin/java",
                "-Xmx256m", "-jar", jar.toString());
        DumbSlave worker = new DumbSlave("worker", home.resolve("agent").toString(), new SimpleCommandLauncher(command));
        worker.setNumExecutors(1);
        worker.setLabelString(Rig.LABEL);
        worker.setRetentionStrategy(RetentionStrategy.NOOP);
        rig.prepare();
        j.jenkins.addNode(worker);
        j.waitOnline(worker);
        PreemptibleConfiguration.get().setMemoryFloorMegabytes(0);
        return worker;
    }

    @AfterAll
    static void remove() throws Exception {
        if (Files.exists(BASE)) {
            HostTool.run(20, List.of(tool("pkill"), "-9", "-u", USER));
            PLACE.remove();
            HostTool.run(60, List.of(tool("userdel"), USER));
            StageFolder.delete(BASE);
        }
    }

    private static String tool(String name) {
        return HostTool.find(name).map(Path::toString).orElse(name);
    }

    private static void root(String name, String... arguments) {
        List<String> words = new java.util.ArrayList<>(List.of(tool(name)));
        words.addAll(List.of(arguments));
        HostTool.Answer answer = HostTool.run(60, words);
        assertTrue(answer.ok(), answer::text);
    }

    private static FreeStyleBuild preempt(String name) throws Exception {
        FreeStyleProject high = rig.freestyle(name, 1, Rig.untilEnough());
        high.scheduleBuild2(0);
        await(name + " has started").atMost(Rig.PATIENCE).until(() -> high.getLastBuild() != null);
        return high.getLastBuild();
    }

    private static StageRecord stage() {
        return StageRegistry.get().all().iterator().next();
    }

    private static int counted(WorkflowRun run) throws Exception {
        return run.getLog().split("count-", -1).length - 1;
    }

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void suspendedAndResumedTwice(boolean nested) throws Exception {
        String shell = "echo \"user $(id -un) of $(id -u)\"; grep NoNewPrivs /proc/self/status\n" + Rig.endless();
        WorkflowJob low = rig.pipeline("low", 5, nested ? Rig.nested(shell, "") : Rig.own(shell));
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        for (String name : List.of("first", "second")) {
            FreeStyleBuild preemptor = preempt(name);
            assertEquals(StageState.SUSPENDED, stage().state());
            Rig.enough(preemptor);
            j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
            await("it goes on").atMost(Rig.PATIENCE).until(() -> stage().state() == StageState.RUNNING);
        }
        int before = counted(victim);
        await("it counts on").atMost(Rig.PATIENCE).until(() -> counted(victim) > before);
        Rig.enough(victim);
        j.assertBuildStatusSuccess(j.waitForCompletion(victim));
        String log = victim.getLog();
        assertThat(log, containsString("user " + USER + " of "));
        assertThat(log, containsString("NoNewPrivs:\t1"));
        assertThat(log, containsString(InMemoryOnlyTest.TOLD));
        assertThat(log, containsString(InMemoryOnlyTest.FROM_FROZEN));
        assertFalse(victim.getArtifactManager().root().list().length > 0, "no image was archived");
        await("nothing is left of it")
                .atMost(Rig.PATIENCE)
                .until(() -> StageRegistry.get().all().isEmpty() && recordsOnHost() == 0);
    }

    private static long recordsOnHost() throws Exception {
        try (var users = Files.walk(PLACE.store(), 2)) {
            return users.filter(p -> p.getNameCount() == PLACE.store().getNameCount() + 2).count();
        }
    }

    @Test
    void anAbortWhileItIsSuspendedLeavesNothing() throws Exception {
        WorkflowJob low = rig.pipeline("low", 5, Rig.own(Rig.endless()));
        WorkflowRun victim = Rig.start(low);
        Rig.awaitLog(victim, "count-3\n");
        FreeStyleBuild preemptor = preempt("high");
        victim.doStop();
        j.assertBuildStatus(Result.ABORTED, j.waitForCompletion(victim));
        await("no record and no process is left")
                .atMost(Rig.PATIENCE)
                .until(() -> recordsOnHost() == 0 && !processes().contains("count-"));
        Rig.enough(preemptor);
        j.assertBuildStatusSuccess(j.waitForCompletion(preemptor));
    }

    private static String processes() {
        return HostTool.run(20, List.of(tool("ps"), "-u", USER, "-o", "args")).text();
    }

    @Test
    void nobodyGainsRightsInAStage() throws Exception {
        WorkflowJob job = rig.pipeline(
                "rights", 5, Rig.own("sudo -n " + PLACE.program() + " version && echo called || echo not-called"));
        WorkflowRun run = j.buildAndAssertSuccess(job);
        assertThat(run.getLog(), containsString("not-called"));
        assertThat(run.getLog(), not(containsString("protocol")));
    }
}
