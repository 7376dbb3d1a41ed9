package io.jenkins.plugins.preemptible.queue.snapshot;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import hudson.model.Queue;
import hudson.model.queue.AbstractQueueTask;
import io.jenkins.plugins.preemptible.engine.policy.Snapshot.BusyExecutor;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Expected ends of what runs on the two executors of the built-in node, where other plugins estimate them. */
@WithJenkins
class BusyExecutorsTest {

    private static final long MINUTE_MILLIS = 60_000;

    private static JenkinsRule j;
    private final CountDownLatch enough = new CountDownLatch(1);

    @BeforeAll
    static void start(JenkinsRule rule) throws Exception {
        j = rule;
        j.jenkins.setNumExecutors(2);
    }

    @AfterAll
    static void stop() throws Exception {
        j.after();
    }

    @AfterEach
    void asBefore() {
        enough.countDown();
        await("nothing runs").until(() -> j.jenkins.toComputer().countBusy() == 0);
    }

    /** What another plugin has put into the queue; runs until it is enough. */
    private final class Estimated extends AbstractQueueTask {
        private final CountDownLatch begun = new CountDownLatch(1);
        private final String name;
        private final long millis;
        /** Thrown when it is asked whose part it is, as {@link Durations} does. */
        private volatile Supplier<Error> broken = () -> null;

        Estimated(String name, long millis) {
            this.name = name;
            this.millis = millis;
        }

        void runs() throws InterruptedException {
            Queue.getInstance().schedule2(this, 0);
            assertTrue(begun.await(1, TimeUnit.MINUTES), name + " has begun");
        }

        @Override
        public long getEstimatedDuration() {
            return millis;
        }

        @Override
        public Queue.Task getOwnerTask() {
            Error thrown = broken.get();
            if (thrown != null) {
                throw thrown;
            }
            return this;
        }

        @Override
        public Queue.Executable createExecutable() {
            return new Queue.Executable() {
                @Override
                public Queue.Task getParent() {
                    return Estimated.this;
                }

                @Override
                public void run() {
                    begun.countDown();
                    try {
                        enough.await();
                    } catch (InterruptedException x) {
                        Thread.currentThread().interrupt();
                    }
                }
            };
        }

        @Override
        public String getName() {
            return name;
        }

        @Override
        public String getFullDisplayName() {
            return name;
        }

        @Override
        public String getDisplayName() {
            return name;
        }

        @Override
        public String getUrl() {
            return "";
        }
    }

    private static List<BusyExecutor> busy() {
        return BusyExecutors.of(Set.of(""));
    }

    /** Behind it there is one that is estimated well. */
    private static long aYearAtMost(List<BusyExecutor> busy) {
        long now = System.currentTimeMillis();
        assertEquals(2, busy.size(), busy::toString);
        long last =
                busy.stream().mapToLong(BusyExecutor::expectedEndMillis).max().orElseThrow();
        assertTrue(
                busy.stream().allMatch(executor -> executor.expectedEndMillis() > now), () -> "in the future: " + busy);
        return TimeUnit.MILLISECONDS.toDays(last - now);
    }

    @Test
    void anEstimateWithoutEndIsAYear() throws Exception {
        new Estimated("endless", Long.MAX_VALUE).runs();
        new Estimated("good", MINUTE_MILLIS).runs();
        assertTrue(aYearAtMost(busy()) <= 365);
    }

    @ParameterizedTest
    @ValueSource(longs = {0, -1, -5_000, Long.MIN_VALUE})
    void noEstimateIsLeftOut(long millis) throws Exception {
        new Estimated("bad", millis).runs();
        new Estimated("good", MINUTE_MILLIS).runs();
        assertEquals(1, busy().size());
    }

    /** A class of that plugin is missing, for instance. */
    @Test
    void oneThatFailsIsLeftOut() throws Exception {
        Estimated failing = new Estimated("failing", MINUTE_MILLIS);
        failing.runs();
        new Estimated("good", MINUTE_MILLIS).runs();
        assertEquals(2, busy().size());
        failing.broken = () -> new NoClassDefFoundError("a class of another plugin");
        try {
            assertEquals(1, busy().size());
        } finally {
            failing.broken = () -> null;
        }
    }
}
