package io.jenkins.plugins.preemptible.lifecycle.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class StageThreadsTest {

    private static final int TASKS = 100;

    private interface Way {
        void run(String agent, StageThreads.Work work);
    }

    @Test
    void anAgentThatDoesNotAnswerKeepsNobodyElseWaiting() throws Exception {
        List<Way> ways = List.of(
                (agent, work) -> StageThreads.submitFor(agent, "a test", work),
                (agent, work) -> StageThreads.submitOn(agent, "a test", work),
                (agent, work) -> StageThreads.sealOn(agent, "a test", work),
                (agent, work) -> StageThreads.soonFor(agent, "a test", work),
                (agent, work) -> StageThreads.askFor(agent, "a test", work));
        CountDownLatch answer = new CountDownLatch(1);
        CountDownLatch ended = new CountDownLatch(TASKS * ways.size());
        try {
            for (Way way : ways) {
                for (int i = 0; i < TASKS; i++) {
                    way.run("hanging", () -> {
                        try {
                            answer.await();
                        } finally {
                            ended.countDown();
                        }
                    });
                }
            }
            for (Way way : ways) {
                CountDownLatch done = new CountDownLatch(1);
                way.run("another", done::countDown);
                assertTrue(done.await(20, TimeUnit.SECONDS), "way " + ways.indexOf(way));
            }
            assertEquals(TASKS * ways.size(), ended.getCount());
        } finally {
            answer.countDown();
        }
        assertTrue(ended.await(20, TimeUnit.SECONDS), "and what waited is done in the end");
    }

    @Test
    void whateverATaskThrowsItsPlaceIsFreeAgain() throws Exception {
        CountDownLatch done = new CountDownLatch(TASKS);
        for (int i = 0; i < TASKS; i++) {
            int kind = i % 3;
            StageThreads.sealOn("failing", "a test", () -> {
                done.countDown();
                if (kind == 0) {
                    throw new OutOfMemoryError("as an agent says");
                }
                throw kind == 1 ? new InterruptedException() : new IllegalStateException();
            });
        }
        assertTrue(done.await(20, TimeUnit.SECONDS));
    }
}
