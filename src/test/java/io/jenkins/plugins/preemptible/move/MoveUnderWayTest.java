package io.jenkins.plugins.preemptible.move;

import static org.awaitility.Awaitility.await;
import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.lifecycle.Restorer.NotMovedException;
import io.jenkins.plugins.preemptible.move.MoveUnderWay.TakenBack;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;

/** A move whose agent does not answer. */
class MoveUnderWayTest {

    private static final String STAGE = "stage-1";
    private static final long TELL_MILLIS = 100;

    private final ExecutorService threads = Executors.newCachedThreadPool();
    private final List<String> lines = new CopyOnWriteArrayList<>();
    /** An answer that never comes. */
    private final CountDownLatch answer = new CountDownLatch(1);

    private final CountDownLatch asked = new CountDownLatch(1);

    @AfterEach
    void end() {
        threads.shutdownNow();
    }

    private MoveUnderWay begin() {
        return MoveUnderWay.begin(STAGE, "B", lines::add, threads, TELL_MILLIS);
    }

    private void hang() throws InterruptedException {
        asked.countDown();
        answer.await();
    }

    @Test
    void itIsTakenBackWhileAnAgentHangs() throws Exception {
        try (MoveUnderWay move = begin()) {
            Future<?> taken = threads.submit(() -> {
                asked.await();
                return MoveUnderWay.takeBack(STAGE, "alice");
            });
            NotMovedException end = assertTimeoutPreemptively(
                    Duration.ofSeconds(20), () -> assertThrows(NotMovedException.class, () -> move.bring(this::hang)));
            assertEquals(TakenBack.DONE, taken.get());
            assertThat(end.getMessage(), containsString("The move to B was taken back by alice"));
            assertThrows(NotMovedException.class, move::restoring, "it is not asked any more");
        }
        assertEquals(TakenBack.NOTHING, MoveUnderWay.takeBack(STAGE, "alice"));
    }

    /** What does not end when it is interrupted does not hold the stage's executor either. */
    @Test
    void aThreadThatDoesNotEndIsLeft() {
        CountDownLatch over = new CountDownLatch(1);
        try (MoveUnderWay move = begin()) {
            threads.submit(() -> {
                asked.await();
                return MoveUnderWay.takeBack(STAGE, "alice");
            });
            assertTimeoutPreemptively(
                    Duration.ofSeconds(30),
                    () -> assertThrows(
                            NotMovedException.class,
                            () -> move.bring(() -> {
                                asked.countDown();
                                while (over.getCount() > 0) {
                                    Thread.onSpinWait();
                                }
                            })));
        } finally {
            over.countDown();
        }
    }

    @Test
    void whatIsAskedBesideHasEndedOnceItIsGivenUp() throws Exception {
        AtomicBoolean ended = new AtomicBoolean();
        try (MoveUnderWay move = begin()) {
            Awaited<Void> beside = move.beside(() -> {
                try {
                    hang();
                } finally {
                    ended.set(true);
                }
            });
            asked.await();
            beside.giveUp();
            assertTrue(ended.get());
            Awaited<Void> fails = move.beside(() -> {
                throw new NotMovedException("OTHER_KERNEL", "It does not fit.", null);
            });
            assertEquals(
                    "OTHER_KERNEL",
                    assertThrows(NotMovedException.class, fails::get).reason());
        }
    }

    @Test
    void itIsNotTakenBackOnceTheAgentWasAsked() throws Exception {
        try (MoveUnderWay move = begin()) {
            move.restoring();
            Future<String> restored = threads.submit(() -> move.restore(() -> {
                hang();
                return "runs";
            }));
            asked.await();
            assertEquals(TakenBack.TOO_LATE, MoveUnderWay.takeBack(STAGE, "alice"));
            await().until(() -> !lines.isEmpty());
            assertFalse(restored.isDone());
            answer.countDown();
            assertEquals("runs", restored.get());
            assertEquals(1, lines.size(), "one line for each step");
            assertThat(lines.get(0), containsString("Moving to B: waits for B to restore the stage, for 100 ms now."));
            assertThat(lines.get(0), containsString("cannot be taken back"));
        }
    }

    @Test
    void aStepThatTakesLongIsTold() throws Exception {
        try (MoveUnderWay move = begin()) {
            Future<?> brought = threads.submit(() -> {
                move.bring(() -> {
                    move.step("waits for an answer of B");
                    hang();
                });
                return null;
            });
            await().until(() -> !lines.isEmpty());
            answer.countDown();
            brought.get();
            assertThat(lines.get(0), containsString("Moving to B: waits for an answer of B, for 100 ms now."));
            assertThat(lines.get(0), containsString("preemptible-resume"));
        }
    }

    @Test
    void aFailureOfTheAgentIsThrownAsItIs() {
        try (MoveUnderWay move = begin()) {
            IOException why = new IOException("the connection to the agent was closed");
            IOException thrown = assertThrows(
                    IOException.class,
                    () -> move.bring(() -> {
                        throw why;
                    }));
            assertTrue(thrown == why, "it is the very exception");
        }
    }
}
