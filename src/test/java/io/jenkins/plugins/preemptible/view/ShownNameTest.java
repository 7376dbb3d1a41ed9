package io.jenkins.plugins.preemptible.view;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import hudson.model.Item;
import hudson.model.User;
import hudson.security.ACL;
import hudson.security.ACLContext;
import jenkins.model.Jenkins;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Who sees for whom a stage was suspended, and whom a build has preempted. */
@WithJenkins
class ShownNameTest {

    private static final String HIDDEN = "a build that you may not see";

    @Test
    void namesAreForThoseWhoMayReadTheJob(JenkinsRule j) throws Exception {
        j.createFreeStyleProject("secret");
        j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
        j.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.READ, Item.READ)
                .everywhere()
                .to("alice")
                .grant(Jenkins.READ)
                .everywhere()
                .to("bob", "carol")
                .grant(Item.DISCOVER)
                .everywhere()
                .to("carol"));
        sees(
                "alice",
                "secret #3",
                "tests",
                "Preempts stage \u201ctests\u201d of secret #3 on worker. It waited longer.");
        for (String user : new String[] {"bob", "carol"}) {
            sees(user, HIDDEN, "", "Preempts a stage of " + HIDDEN + " on worker. It waited longer.");
        }
        assertEquals("part of x #1", ShownName.of("part of x #1", null));
        assertNull(ShownName.of(null, "secret"));
    }

    private static void sees(String user, String name, String stage, String sentence) {
        PreemptorAction preemptor =
                new PreemptorAction("secret #3", "secret", "tests", "worker", "It waited longer.", 1);
        SuspendedStageAction suspended = new SuspendedStageAction(
                "fuzz", "SUSPENDED", 1, "secret #3", "secret", "It waited longer.", false, false, 0, false, null);
        try (ACLContext as = ACL.as2(User.getById(user, true).impersonate2())) {
            assertEquals(name, preemptor.getVictim());
            assertEquals(name, suspended.getPreemptor());
            assertEquals(stage, preemptor.getStage());
            assertEquals(sentence, preemptor.getSentence());
            preemptor.suspended(2);
            assertEquals(stage.isEmpty(), !preemptor.getSentence().contains("tests"));
            preemptor.started(3);
            assertEquals(stage.isEmpty(), !preemptor.getSentence().contains("tests"));
        }
    }
}
