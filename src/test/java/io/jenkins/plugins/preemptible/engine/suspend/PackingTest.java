package io.jenkins.plugins.preemptible.engine.suspend;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.StageBench;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Nobody waits for ever for a packing that hears of nothing, and nothing of it turns up later. */
@Tag("host")
class PackingTest {

    @TempDir
    Path folder;

    @Test
    void oneThatHearsNothingIsLeftBehind() throws Exception {
        Path archive = folder.resolve("a");
        CountDownLatch disk = new CountDownLatch(1);
        AtomicBoolean told = new AtomicBoolean();
        Packing stuck = new Packing(archive, false, () -> true, Duration.ofMillis(100));
        SuspendFailedException left = assertThrows(
                SuspendFailedException.class,
                () -> stuck.run(givenUp -> {
                    awaitDeaf(disk);
                    told.set(givenUp.getAsBoolean());
                    return Files.writeString(archive, "renamed into place all the same");
                }));
        assertEquals(FailureReason.GOES_ON, left.reason());
        Packing next = new Packing(archive, false, () -> false, Duration.ofMillis(100));
        SuspendFailedException busy = assertThrows(
                SuspendFailedException.class, () -> next.run(givenUp -> Files.writeString(archive, "next")));
        assertEquals(FailureReason.STAGE_BUSY, busy.reason());
        disk.countDown();
        StageBench.until("the disk to answer", Duration.ofSeconds(30), () -> ended(next, archive));
        assertTrue(told.get());
        assertEquals("next", Files.readString(archive));
    }

    private static boolean ended(Packing next, Path archive) {
        try {
            next.run(givenUp -> Files.writeString(archive, "next"));
            return true;
        } catch (SuspendFailedException | IOException e) {
            return false;
        }
    }

    @Test
    void oneThatFailsLaterLeavesAnOlderArchiveAlone() throws Exception {
        Path archive = Files.writeString(folder.resolve("a"), "older");
        CountDownLatch disk = new CountDownLatch(1);
        Packing stuck = new Packing(archive, false, () -> true, Duration.ofMillis(100));
        assertThrows(
                SuspendFailedException.class,
                () -> stuck.run(givenUp -> {
                    awaitDeaf(disk);
                    throw new IOException("given up");
                }));
        disk.countDown();
        Packing look = new Packing(archive, false, () -> false, Duration.ofMillis(100));
        StageBench.until("its end", Duration.ofSeconds(30), () -> {
            try {
                return look.run(givenUp -> Files.readString(archive)).equals("older");
            } catch (SuspendFailedException e) {
                return false;
            } catch (IOException e) {
                throw new AssertionError(e);
            }
        });
        assertFalse(Files.notExists(archive));
    }

    // As fsync is.
    private static void awaitDeaf(CountDownLatch latch) {
        boolean waiting = true;
        while (waiting) {
            try {
                latch.await();
                waiting = false;
            } catch (InterruptedException e) {
                // Deaf.
            }
        }
    }
}
