package io.jenkins.plugins.preemptible.queue.snapshot;

import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.model.Item;
import hudson.model.User;
import hudson.model.queue.CauseOfBlockage;
import hudson.security.ACL;
import hudson.security.ACLContext;
import hudson.util.StreamTaskListener;
import io.jenkins.plugins.preemptible.engine.policy.Reason;
import io.jenkins.plugins.preemptible.lifecycle.stage.Pretended;
import java.io.ByteArrayOutputStream;
import java.nio.charset.StandardCharsets;
import jenkins.model.Jenkins;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Why a block is held back: in the queue for the user who looks, and in the build's log for all of its readers. */
@WithJenkins
class SuspendedForTest {

    private static final String REASON = Reason.HIGHER_PRIORITY_WAITS.sentence();
    private static final String SENTENCE = "The preemptible stage stage is suspended for ";

    @Test
    void pipelineWritesItIntoTheLogWithNeutralWords(JenkinsRule j) throws Exception {
        j.createFreeStyleProject("low");
        j.createFreeStyleProject("high");
        CauseOfBlockage cause = new SuspendedFor(Pretended.suspendedFor("low#1", "high #3", "high", REASON));
        assertEquals(SENTENCE + "high #3: " + REASON, logged(cause), "where everybody reads all");

        j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
        j.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.READ, Item.READ)
                .everywhere()
                .to("alice")
                .grant(Jenkins.READ)
                .everywhere()
                .to("bob"));
        try (ACLContext as = ACL.as2(User.getById("alice", true).impersonate2())) {
            assertEquals(SENTENCE + "high #3: " + REASON, cause.getShortDescription());
        }
        try (ACLContext as = ACL.as2(User.getById("bob", true).impersonate2())) {
            assertEquals(SENTENCE + "a build that you may not see: " + REASON, cause.getShortDescription());
        }
        assertEquals(SENTENCE + "a build of higher priority: " + REASON, logged(cause));
    }

    /** As SYSTEM, as Pipeline does it. */
    private static String logged(CauseOfBlockage cause) {
        ByteArrayOutputStream log = new ByteArrayOutputStream();
        try (ACLContext system = ACL.as2(ACL.SYSTEM2)) {
            cause.print(new StreamTaskListener(log, StandardCharsets.UTF_8));
        }
        return log.toString(StandardCharsets.UTF_8).trim();
    }
}
