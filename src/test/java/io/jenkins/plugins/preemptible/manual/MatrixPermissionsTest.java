package io.jenkins.plugins.preemptible.manual;

import static io.jenkins.plugins.preemptible.manual.Requests.answers;
import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotNull;

import hudson.model.Cause;
import hudson.model.CauseAction;
import hudson.security.AuthorizationStrategy;
import hudson.security.GlobalMatrixAuthorizationStrategy;
import hudson.security.Permission;
import io.jenkins.plugins.casc.ConfigurationAsCode;
import io.jenkins.plugins.casc.ConfigurationContext;
import io.jenkins.plugins.casc.ConfiguratorRegistry;
import io.jenkins.plugins.casc.misc.ConfiguredWithCode;
import io.jenkins.plugins.casc.misc.JenkinsConfiguredWithCodeRule;
import io.jenkins.plugins.casc.misc.Util;
import io.jenkins.plugins.casc.misc.junit.jupiter.WithJenkinsConfiguredWithCode;
import io.jenkins.plugins.preemptible.hand.PreemptiblePermissions;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jenkinsci.plugins.matrixauth.PermissionEntry;
import org.jenkinsci.plugins.workflow.cps.CpsFlowDefinition;
import org.jenkinsci.plugins.workflow.job.WorkflowJob;
import org.jenkinsci.plugins.workflow.job.WorkflowRun;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The permissions in a security matrix that Configuration as Code sets up. */
@WithJenkinsConfiguredWithCode
class MatrixPermissionsTest {

    @Test
    @ConfiguredWithCode("matrix-permissions.yaml")
    void areNamedExportedReadAgainAndHold(JenkinsConfiguredWithCodeRule j, @TempDir Path folder) throws Exception {
        Map<Permission, Set<PermissionEntry>> granted = granted(j);
        assertEquals(Set.of(PermissionEntry.user("boss")), granted.get(PreemptiblePermissions.MANAGE));
        assertEquals(Set.of(PermissionEntry.user("operator")), granted.get(PreemptiblePermissions.SUSPEND));
        assertEquals(Set.of(PermissionEntry.group("authenticated")), granted.get(PreemptiblePermissions.SUSPEND_OWN));

        Path exported = Files.writeString(
                folder.resolve("jenkins.yaml"),
                "jenkins:\n  authorizationStrategy:\n"
                        + Util.toYamlString(Util.getJenkinsRoot(new ConfigurationContext(ConfiguratorRegistry.get()))
                                        .get("authorizationStrategy"))
                                .indent(4));
        j.jenkins.setAuthorizationStrategy(AuthorizationStrategy.UNSECURED);
        ConfigurationAsCode.get().configure(exported.toString());
        assertEquals(granted, granted(j), () -> "after importing " + exported);

        eachMayWhatTheMatrixSays(j);
    }

    private static void eachMayWhatTheMatrixSays(JenkinsConfiguredWithCodeRule j) throws Exception {
        // Where the stage's sandbox would be: it runs without one, and nothing of it outlives the test.
        Files.createFile(j.jenkins.getRootDir().toPath().resolve("preemptible"));
        WorkflowJob job = j.createProject(WorkflowJob.class, "job");
        job.setDefinition(new CpsFlowDefinition("preemptible(label: 'built-in', name: 'tests') { sleep 3600 }", true));
        WorkflowRun run = job.scheduleBuild2(0, new CauseAction(new Cause.UserIdCause("owner")))
                .waitForStart();
        j.waitForMessage("Sleeping for", run);
        // As of one that can be suspended.
        StageRegistry.get().update(stage().id(), s -> s.opened(Pretended.enter(s.id()), null));
        j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
        Requests web = new Requests(j);
        String onBuild = run.getUrl() + "preemptible/";

        for (String user : List.of("boss", "operator", "owner", "stranger")) {
            boolean may = !user.equals("stranger");
            answers(
                    may ? 200 : 403,
                    may ? "the build log tells when it is" : "only of builds that they started",
                    web.post(user, onBuild + "suspend"));
            assertEquals(may, stage().byHand(), user);
            StageRegistry.get().update(stage().id(), StageRecord::notByHand);
            boolean manages = user.equals("boss");
            answers(
                    manages ? 200 : 403,
                    manages ? "no longer suspended for others" : "Preemptible/Manage",
                    web.post(user, onBuild + "never"));
        }
        for (String user : List.of("boss", "operator")) {
            assertEquals(403, web.get(user, "configure").getStatusCode(), user);
            assertEquals(403, web.post(user, "configSubmit").getStatusCode(), user);
        }
        run.doStop();
        j.waitForCompletion(run);
        await().atMost(Duration.ofMinutes(3))
                .until(() -> StageRegistry.get().all().isEmpty());
    }

    private static StageRecord stage() {
        StageRecord stage = StageRegistry.get().all().stream().findFirst().orElse(null);
        assertNotNull(stage);
        return stage;
    }

    private static Map<Permission, Set<PermissionEntry>> granted(JenkinsConfiguredWithCodeRule j) {
        return ((GlobalMatrixAuthorizationStrategy) j.jenkins.getAuthorizationStrategy()).getGrantedPermissionEntries();
    }
}
