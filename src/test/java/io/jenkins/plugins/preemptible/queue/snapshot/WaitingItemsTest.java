package io.jenkins.plugins.preemptible.queue.snapshot;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.ExtensionList;
import hudson.model.FreeStyleProject;
import hudson.model.Label;
import hudson.model.Node;
import hudson.model.Queue;
import hudson.model.TopLevelItem;
import hudson.model.User;
import hudson.model.queue.CauseOfBlockage;
import hudson.model.queue.QueueTaskDispatcher;
import hudson.security.AuthorizationStrategy;
import hudson.security.SecurityRealm;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.WaitingItem;
import io.jenkins.plugins.preemptible.queue.BusyController;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import jenkins.model.Jenkins;
import jenkins.security.QueueItemAuthenticator;
import jenkins.security.QueueItemAuthenticatorConfiguration;
import jenkins.security.QueueItemAuthenticatorProvider;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.MockAuthorizationStrategy;
import org.jvnet.hudson.test.MockQueueItemAuthenticator;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;
import org.springframework.security.core.Authentication;

/** What is found once for many items, and that no change of an agent, a job or another plugin is missed. */
@WithJenkins
class WaitingItemsTest {

    /** Another plugin, whose answers a test changes. */
    private static final class Throttling extends QueueTaskDispatcher {
        volatile Set<String> jobs = Set.of();
        volatile RuntimeException failure;
        final AtomicInteger asked = new AtomicInteger();

        @Override
        public CauseOfBlockage canTake(Node node, Queue.BuildableItem item) {
            if (node.getNodeName().isEmpty()) {
                return null;
            }
            asked.incrementAndGet();
            if (failure != null) {
                throw failure;
            }
            return jobs.contains(item.task.getName()) && node.getNodeName().equals("one") ? new Throttled() : null;
        }
    }

    private static final class Throttled extends CauseOfBlockage {
        @Override
        public String getShortDescription() {
            return "throttled";
        }
    }

    private static JenkinsRule j;
    private final WaitingItems items = new WaitingItems();
    private final Throttling throttling = new Throttling();
    private Node one;
    private Node two;

    /** One for all tests: most of their time is its start. */
    @BeforeAll
    static void start(JenkinsRule rule) throws Exception {
        j = rule;
        j.jenkins.setNumExecutors(0);
    }

    @AfterAll
    static void stop() throws Exception {
        j.after();
    }

    @BeforeEach
    void agents() throws Exception {
        one = new BusyController.Processless("one", "linux", 0);
        two = new BusyController.Processless("two", "linux", 0);
        j.jenkins.setNodes(List.of(one, two));
        ExtensionList.lookup(QueueTaskDispatcher.class).add(throttling);
    }

    @AfterEach
    void asBefore() throws Exception {
        ExtensionList.lookup(QueueTaskDispatcher.class).remove(throttling);
        QueueItemAuthenticatorConfiguration.get().getAuthenticators().clear();
        j.jenkins.setSecurityRealm(SecurityRealm.NO_AUTHENTICATION);
        j.jenkins.setAuthorizationStrategy(AuthorizationStrategy.UNSECURED);
        j.jenkins.getQueue().clear();
        for (TopLevelItem job : j.jenkins.getItems()) {
            job.delete();
        }
    }

    private FreeStyleProject waiting(String name) throws Exception {
        FreeStyleProject job = j.createFreeStyleProject(name);
        job.setAssignedLabel(Label.get("linux"));
        job.scheduleBuild2(0);
        await().until(() -> Queue.getInstance().getItem(job) instanceof Queue.BuildableItem);
        return job;
    }

    private List<WaitingItem> read() {
        List<Queue.BuildableItem> buildable = Queue.getInstance().getBuildableItems();
        return items.read(
                buildable,
                new FittingAgents(
                        List.of(one, two), List.of(), new Arrivals(Jenkins.get()), new ContinuedItems(buildable)),
                name -> null);
    }

    private Set<String> agentsOf(FreeStyleProject job) {
        String id = String.valueOf(Queue.getInstance().getItem(job).getId());
        return read().stream()
                .filter(item -> item.id().equals(id))
                .map(item -> (Set<String>) new TreeSet<>(item.agents()))
                .findFirst()
                .orElseThrow();
    }

    private Set<String> checked(FreeStyleProject job) {
        String id = String.valueOf(Queue.getInstance().getItem(job).getId());
        return items.check(
                read().stream().filter(item -> item.id().equals(id)).findFirst().orElseThrow());
    }

    @Test
    void changesOfAgentsAreSeenAtOnce() throws Exception {
        FreeStyleProject job = waiting("job");
        assertEquals(Set.of("one", "two"), agentsOf(job));
        relabel("windows");
        assertEquals(Set.of("two"), agentsOf(job));
        relabel("linux");
        assertEquals(Set.of("one", "two"), agentsOf(job));
        job.setAssignedLabel(Label.get("windows"));
        assertEquals(Set.of(), agentsOf(job));
    }

    private void relabel(String label) throws Exception {
        one.setLabelString(label);
        j.jenkins.updateNode(one);
    }

    @Test
    void permissionsAreSeenAtOnce() throws Exception {
        j.jenkins.setSecurityRealm(j.createDummySecurityRealm());
        j.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.ADMINISTER)
                .everywhere()
                .to("admin")
                .grant(Jenkins.READ)
                .everywhere()
                .toEveryone());
        FreeStyleProject job = waiting("job");
        assertEquals(Set.of("one", "two"), agentsOf(job));
        QueueItemAuthenticatorConfiguration.get()
                .getAuthenticators()
                .add(new MockQueueItemAuthenticator()
                        .authenticate("job", User.getById("guest", true).impersonate2()));
        assertEquals(Set.of(), agentsOf(job), "a guest may not build there");
        j.jenkins.setAuthorizationStrategy(new MockAuthorizationStrategy()
                .grant(Jenkins.ADMINISTER)
                .everywhere()
                .to("admin", "guest"));
        assertEquals(Set.of("one", "two"), agentsOf(job));
    }

    @Test
    void nothingIsDoneByAnAnswerOfBefore() throws Exception {
        FreeStyleProject job = waiting("job");
        FreeStyleProject other = waiting("other");
        assertEquals(Set.of("one", "two"), agentsOf(job));
        throttling.jobs = Set.of("job");
        assertEquals(Set.of("one", "two"), agentsOf(job), "that is believed for a while");
        assertEquals(Set.of("two"), checked(job));
        assertEquals(Set.of("one", "two"), checked(other));
        assertEquals(Set.of("two"), agentsOf(job), "and was found out");
        throttling.jobs = Set.of();
        assertEquals(Set.of("one", "two"), checked(job));
    }

    @Test
    void aVetoIsAskedForAgain() throws Exception {
        FreeStyleProject job = waiting("job");
        throttling.jobs = Set.of("job");
        assertEquals(Set.of("two"), agentsOf(job));
        throttling.jobs = Set.of();
        await("what is believed for five seconds").until(() -> agentsOf(job).equals(Set.of("one", "two")));
    }

    @Test
    void onePluginThatFailsKeepsAnItemOffAndNothingElse() throws Exception {
        FreeStyleProject job = waiting("job");
        throttling.failure = new IllegalStateException("a plugin's fault");
        assertEquals(Set.of(), agentsOf(job));
    }

    @Test
    void nobodyIsAskedTwiceWithoutNeed() throws Exception {
        waiting("job");
        read();
        int before = throttling.asked.get();
        for (int i = 0; i < 20; i++) {
            read();
        }
        assertTrue(throttling.asked.get() - before <= 4, "asked " + (throttling.asked.get() - before) + " times");
    }

    /** Counts who asks as whom an item runs: our look at each item, and Jenkins for an agent and items that are alike. */
    private static final class Asked extends QueueItemAuthenticatorProvider {
        final AtomicInteger times = new AtomicInteger();

        @Override
        public List<QueueItemAuthenticator> getAuthenticators() {
            return List.of(new QueueItemAuthenticator() {
                @Override
                public Authentication authenticate2(Queue.Item item) {
                    times.incrementAndGet();
                    return null;
                }
            });
        }
    }

    @Test
    void agentsThatAreAddedDoNotMakeAllItemsUnknown() throws Exception {
        int many = 20;
        for (int i = 0; i < many; i++) {
            waiting("job-" + i);
        }
        Asked asked = new Asked();
        ExtensionList.lookup(QueueItemAuthenticatorProvider.class).add(asked);
        try {
            read();
            assertTrue(asked.times.getAndSet(0) >= many, "all are new");
            j.jenkins.addNode(new BusyController.Processless("three", "linux", 0));
            read();
            assertTrue(asked.times.get() < many, asked.times + " times");
        } finally {
            ExtensionList.lookup(QueueItemAuthenticatorProvider.class).remove(asked);
        }
    }
}
