package io.jenkins.plugins.preemptible.manual;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Label;
import hudson.model.Queue;
import hudson.security.ACL;
import hudson.security.AccessControlled;
import hudson.security.Permission;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicInteger;
import jenkins.model.Jenkins;
import net.sf.json.JSONObject;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** What a request for the whole state asks Jenkins about the items that wait. */
@WithJenkins
class StateOfItemsTest {

    @Test
    void permissionsAreCheckedOnceForTheItemsAndTheirTotal(JenkinsRule j) throws Exception {
        Checked task = new Checked();
        Queue.getInstance().schedule2(task, 0);
        await().atMost(Duration.ofMinutes(3))
                .until(() -> !Queue.getInstance().getBuildableItems().isEmpty());

        assertEquals(1, state(j, "?tree=waitingTotal").getInt("waitingTotal"));
        int once = task.checks.getAndSet(0);
        JSONObject whole = state(j, "");

        assertEquals(1, whole.getInt("waitingTotal"));
        assertEquals("checked", whole.getJSONArray("waiting").getJSONObject(0).getString("name"));
        assertTrue(once > 0);
        assertEquals(once, task.checks.get());
        Queue.getInstance().clear();
    }

    private static JSONObject state(JenkinsRule j, String query) throws Exception {
        return JSONObject.fromObject(j.createWebClient()
                .goTo("preemptible/api/json" + query, "application/json")
                .getWebResponse()
                .getContentAsString());
    }

    /** Waits for ever, and counts who asks whether it may be seen. */
    private static final class Checked implements Queue.Task, AccessControlled {
        private final AtomicInteger checks = new AtomicInteger();

        @Override
        public ACL getACL() {
            return Jenkins.get().getACL();
        }

        @Override
        public boolean hasPermission(Permission permission) {
            // Jenkins' own thread asks, too, when it saves the queue.
            checks.addAndGet(Jenkins.getAuthentication2().equals(ACL.SYSTEM2) ? 0 : 1);
            return true;
        }

        @Override
        public String getName() {
            return "checked";
        }

        @Override
        public String getFullDisplayName() {
            return "checked";
        }

        @Override
        public String getDisplayName() {
            return "checked";
        }

        @Override
        public String getUrl() {
            return "";
        }

        @Override
        public Label getAssignedLabel() {
            return Label.get("nowhere");
        }

        @Override
        public Queue.Executable createExecutable() {
            throw new IllegalStateException("there is no such agent");
        }
    }
}
