package io.jenkins.plugins.preemptible.engine.image.archive;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.image.Arrival;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageException.Reason;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** An archive that is read while it is still being written. */
class ArrivingArchiveTest extends ImageCase {

    private static final Duration PATIENT = Duration.ofMinutes(1);
    private static final Duration IMPATIENT = Duration.ofMillis(200);

    private byte[] sealed;
    private Path arriving;

    @BeforeEach
    void sealedImage() throws Exception {
        write();
        sealed = Files.readAllBytes(archive);
        arriving = Files.createFile(folder.resolve("arriving"));
    }

    /** Writes so many bytes, a few at a time. */
    private CompletableFuture<Void> bring(byte[] content, int bytes) {
        return CompletableFuture.runAsync(() -> {
            Random random = new Random(bytes);
            try (OutputStream out = Files.newOutputStream(arriving)) {
                for (int at = 0; at < bytes; ) {
                    int length = Math.min(bytes - at, 1 + random.nextInt(400_000));
                    out.write(content, at, length);
                    at += length;
                    Thread.sleep(random.nextInt(10));
                }
            } catch (Exception e) {
                throw new IllegalStateException(e);
            }
        });
    }

    private ReadRequest request(Duration patience) {
        return ReadRequest.of(arriving, KEY).arriving(new Arrival(patience));
    }

    private void assertRefused(Reason reason, ReadRequest request) {
        ImageException e = assertThrows(ImageException.class, () -> ImageArchive.read(request, target));
        assertEquals(reason, e.reason(), e.getMessage());
        assertFalse(Files.exists(target), "nothing is left of it");
    }

    @Test
    void itIsWholeWhenItsEndHasCome() throws Exception {
        CompletableFuture<Void> brought = bring(sealed, sealed.length);
        ReadRequest request = request(PATIENT);
        assertEquals("afl-1234", ImageArchive.manifestOf(request).stageId(), "from the beginning alone");
        ImageArchive.read(request, target);
        assertTrue(Files.size(arriving) == sealed.length, "not before");
        brought.get();
        for (String name : new String[] {"pages-1.img", "core-1.img", "empty.img"}) {
            assertArrayEquals(Files.readAllBytes(images.resolve(name)), Files.readAllBytes(target.resolve(name)), name);
        }
    }

    @Test
    void oneThatStopsIsRefusedWhereverThatIs() throws Exception {
        for (int length : new int[] {0, 9, 2_000_000, sealed.length - 16, sealed.length - 1}) {
            bring(sealed, length).get();
            ImageException e = assertThrows(ImageException.class, () -> ImageArchive.read(request(IMPATIENT), target));
            // Where the first segment is cut Tink knows of no other reason than the key.
            assertTrue(
                    e.reason() == Reason.TRUNCATED || length == 9 && e.reason() == Reason.NOT_AN_IMAGE,
                    length + ": " + e.getMessage());
            assertFalse(Files.exists(target), "nothing is left of it");
        }
    }

    @Test
    void oneThatIsChangedIsRefused() throws Exception {
        sealed[sealed.length - 1000] ^= 1;
        bring(sealed, sealed.length).get();
        assertRefused(Reason.WRONG_KEY_OR_TAMPERED, request(PATIENT));
    }

    @Test
    void oneWithAnotherEndIsRefused() throws Exception {
        sealed[sealed.length - 1] ^= 1;
        bring(sealed, sealed.length).get();
        assertRefused(Reason.TRUNCATED, request(IMPATIENT));
    }

    @Test
    void oneWithSomethingBehindItsEndIsRefused() throws Exception {
        bring(Arrays.copyOf(sealed, sealed.length + 1), sealed.length + 1).get();
        assertRefused(Reason.TRUNCATED, request(IMPATIENT));
    }

    @Test
    void oneWithoutItsHeadIsRefused() throws Exception {
        sealed[0] ^= 1;
        bring(sealed, sealed.length).get();
        assertRefused(Reason.NOT_AN_IMAGE, request(PATIENT));
    }

    @Test
    void nobodyWaitsForOneThatIsCancelled() throws Exception {
        AtomicBoolean cancelled = new AtomicBoolean();
        bring(sealed, 2_000_000).thenRun(() -> cancelled.set(true));
        assertRefused(Reason.CANCELLED, request(PATIENT).unless(cancelled::get));
    }
}
