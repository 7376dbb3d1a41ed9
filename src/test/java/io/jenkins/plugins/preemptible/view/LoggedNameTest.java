package io.jenkins.plugins.preemptible.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.FreeStyleProject;
import hudson.model.Item;
import hudson.model.TopLevelItem;
import hudson.security.AuthorizationMatrixProperty;
import hudson.security.AuthorizationStrategy;
import hudson.security.FullControlOnceLoggedInAuthorizationStrategy;
import hudson.security.GlobalMatrixAuthorizationStrategy;
import hudson.security.ProjectMatrixAuthorizationStrategy;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import java.util.Map;
import java.util.Set;
import jenkins.model.Jenkins;
import org.jenkinsci.plugins.matrixauth.AuthorizationType;
import org.jenkinsci.plugins.matrixauth.PermissionEntry;
import org.jenkinsci.plugins.matrixauth.inheritance.NonInheritingStrategy;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.MockFolder;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Which builds a build log may name: only what every reader of that log may see anyway. */
@WithJenkins
class LoggedNameTest {

    private static JenkinsRule j;
    private FreeStyleProject other;

    /** One for all tests: most of their time is its start. */
    @BeforeAll
    static void start(JenkinsRule rule) throws Exception {
        j = rule;
        j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
    }

    @AfterAll
    static void stop() throws Exception {
        j.after();
    }

    @BeforeEach
    void jobs() throws Exception {
        j.createFreeStyleProject("log");
        other = j.createFreeStyleProject("other");
        MockFolder folder = j.createFolder("folder");
        folder.createProject(FreeStyleProject.class, "inside");
        folder.createProject(FreeStyleProject.class, "beside");
    }

    @AfterEach
    void noJobs() throws Exception {
        j.jenkins.setAuthorizationStrategy(AuthorizationStrategy.UNSECURED);
        for (TopLevelItem item : j.jenkins.getItems()) {
            item.delete();
        }
    }

    @Test
    void wherePermissionsAreGivenGloballyEverybodyReadsAllOrNothing() {
        FullControlOnceLoggedInAuthorizationStrategy users = new FullControlOnceLoggedInAuthorizationStrategy();
        users.setAllowAnonymousRead(false);
        j.jenkins.setAuthorizationStrategy(users);
        assertTrue(LoggedName.mayName("other", "log"));
        assertTrue(LoggedName.mayName("folder/inside", "log"));
        GlobalMatrixAuthorizationStrategy matrix = new GlobalMatrixAuthorizationStrategy();
        matrix.add(Jenkins.READ, PermissionEntry.user("alice"));
        matrix.add(Item.READ, PermissionEntry.user("alice"));
        j.jenkins.setAuthorizationStrategy(matrix);
        assertTrue(LoggedName.mayName("other", "log"));
        assertTrue(LoggedName.mayName("folder/inside", "folder/beside"));
    }

    @Test
    void aJobWithPermissionsOfItsOwnIsNotNamedUnlessAnonymousMayReadIt() throws Exception {
        ProjectMatrixAuthorizationStrategy matrix = new ProjectMatrixAuthorizationStrategy();
        matrix.add(Jenkins.READ, PermissionEntry.user("alice"));
        matrix.add(Item.READ, PermissionEntry.user("alice"));
        j.jenkins.setAuthorizationStrategy(matrix);
        assertTrue(LoggedName.mayName("other", "log"), "neither has permissions of its own");
        other.addProperty(new AuthorizationMatrixProperty(
                Map.of(Item.READ, Set.of(new PermissionEntry(AuthorizationType.USER, "bob"))),
                new NonInheritingStrategy()));
        assertFalse(LoggedName.mayName("other", "log"));
        assertFalse(LoggedName.mayName("log", "other"), "bob reads the log, and not that job");
        assertTrue(LoggedName.mayName("other", "other"));
        matrix.add(Jenkins.READ, PermissionEntry.user("anonymous"));
        matrix.add(Item.READ, PermissionEntry.user("anonymous"));
        assertTrue(LoggedName.mayName("log", "other"), "everybody may read it");
        assertFalse(LoggedName.mayName("other", "log"));
    }

    @Test
    void oneFolderIsNotEnough() {
        j.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.READ, Item.READ)
                .everywhere()
                .to("alice"));
        assertFalse(LoggedName.mayName("folder/inside", "folder/beside"));
        assertTrue(LoggedName.mayName("folder/inside", "folder/inside"));
    }

    @Test
    void aFolderThatNotEverybodySeesIsNotNamedEither() {
        MockAuthorizationStrategy inside = new MockAuthorizationStrategy()
                .grant(Jenkins.READ)
                .everywhere()
                .toEveryone()
                .grant(Item.READ)
                .onPaths("folder/inside")
                .toEveryone();
        j.jenkins.setAuthorizationStrategy(inside);
        assertFalse(LoggedName.mayName("folder/inside", "log"));
        assertTrue(LoggedName.mayName("folder/inside", "folder/beside"), "its readers know their folder");
        inside.grant(Item.READ).onPaths("folder").toEveryone();
        assertTrue(LoggedName.mayName("folder/inside", "log"));
    }

    @Test
    void otherwiseTheWordsAreNeutral() {
        j.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.READ, Item.READ)
                .everywhere()
                .to("alice"));
        String higher = Reason.HIGHER_PRIORITY_WAITS.sentence();
        assertEquals("other #3", LoggedName.ofPreemptor("other #3", "log", "log", higher));
        assertEquals("a build of higher priority", LoggedName.ofPreemptor("other #3", "other", "log", higher));
        assertEquals("another build", LoggedName.ofPreemptor("other #3", "other", "log", "The slice is over."));
        assertEquals("another build", LoggedName.ofPreemptor("other #3", "gone", "log", null));
        assertEquals("another build", LoggedName.ofPreemptor("a task of no job", null, "log", null));
        assertNull(LoggedName.ofPreemptor(null, null, "log", higher));
        assertEquals("A build of higher priority", LoggedName.atBeginning("a build of higher priority"));
        assertEquals("other #3", LoggedName.atBeginning("other #3"));

        PreemptorAction story = new PreemptorAction("other #3", "other", "tests", "worker", "It waited longer.", 1);
        assertEquals("Preempts a running stage on worker. It waited longer.", story.sentenceForLog("log"));
        assertEquals(
                "Preempts stage \u201ctests\u201d of other #3 on worker. It waited longer.",
                story.sentenceForLog("other"));
    }
}
