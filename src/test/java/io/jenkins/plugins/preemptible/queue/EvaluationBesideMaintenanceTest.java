package io.jenkins.plugins.preemptible.queue;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertEquals;

import hudson.model.Queue;
import hudson.model.queue.QueueTaskDispatcher;
import io.jenkins.plugins.preemptible.step.StageTask;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.jvnet.hudson.test.JenkinsRule;
import org.jvnet.hudson.test.junit.jupiter.WithJenkins;

/** Jenkins holds its queue's lock for long where many items wait: an urgent item must not wait for that, too. */
@WithJenkins
class EvaluationBesideMaintenanceTest {

    private static final int AGENTS = 10;
    private static final int ITEMS = 200;
    private static final long PATIENCE_SECONDS = 10;

    private final CountDownLatch held = new CountDownLatch(1);
    private final CountDownLatch over = new CountDownLatch(1);
    private final Thread holder = new Thread(this::holdLock);

    private void holdLock() {
        Queue.withLock(() -> {
            held.countDown();
            try {
                over.await();
            } catch (InterruptedException x) {
                Thread.currentThread().interrupt();
            }
        });
    }

    @AfterEach
    void release() throws InterruptedException {
        over.countDown();
        holder.join();
    }

    @Test
    void anEvaluationDoesNotWaitForTheQueuesLock(JenkinsRule j) throws Exception {
        BusyController busy = new BusyController(j);
        busy.agents(AGENTS, 1);
        String idle = "agent-" + AGENTS;
        QueueTaskDispatcher closed = BusyController.keepEverybodyOff(idle);
        try {
            busy.stages(AGENTS, AGENTS, AGENTS);
            busy.fillTo(ITEMS);
            // Until the lock is held no evaluation may find the stage that can be resumed.
            j.jenkins.doQuietDown();
            busy.idleAgent(idle, "alone");
            busy.suspended(AGENTS, idle);
            evaluateBesideTheLock(j);
            release();
            await("the item of the stage that is resumed")
                    .atMost(Duration.ofMinutes(3))
                    .until(() -> Arrays.stream(Queue.getInstance().getItems())
                            .anyMatch(item -> item.task instanceof StageTask stage && stage.resumes()));
        } finally {
            release();
            Queue.getInstance().clear();
            QueueTaskDispatcher.all().remove(closed);
        }
    }

    private void evaluateBesideTheLock(JenkinsRule j) throws Exception {
        Preemption.forget();
        holder.start();
        held.await();
        j.jenkins.doCancelQuietDown();
        Thread evaluates = new Thread(Preemption::look);
        evaluates.start();
        evaluates.join(TimeUnit.SECONDS.toMillis(PATIENCE_SECONDS));
        String where =
                Arrays.stream(evaluates.getStackTrace()).map(Object::toString).collect(Collectors.joining("\n"));
        if (evaluates.isAlive()) {
            release();
            evaluates.join();
        }
        assertEquals("", where, "where it waits");
    }
}
