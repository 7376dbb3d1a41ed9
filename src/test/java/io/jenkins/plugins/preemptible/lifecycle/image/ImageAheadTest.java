package io.jenkins.plugins.preemptible.lifecycle.image;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.agent.PiecesInOrder;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import java.io.IOException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Random;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ImageAheadTest {

    @TempDir
    Path archive;

    private Path folder;

    private final byte[] image = new byte[3 << 20];
    private int made;
    private int onTheirWay;
    private int most;
    private boolean away;

    private final StageAgent agent = (StageAgent) Proxy.newProxyInstance(
            StageAgent.class.getClassLoader(), new Class<?>[] {StageAgent.class}, (proxy, method, words) -> {
                if (away) {
                    throw new IOException("away");
                }
                return switch (method.getName()) {
                    case "askGrowing" -> growing((long) words[0], (int) words[1]);
                    case "sum" -> sum((long) words[0]);
                    default -> throw new AssertionError(method);
                };
            });

    private Awaited<byte[]> growing(long offset, int length) {
        onTheirWay++;
        most = Math.max(most, onTheirWay);
        boolean there = made - offset >= length;
        return new Awaited<>() {
            @Override
            public byte[] get() {
                onTheirWay--;
                return there ? Arrays.copyOfRange(image, (int) offset, (int) offset + length) : new byte[0];
            }

            @Override
            public void giveUp() {
                onTheirWay--;
            }
        };
    }

    private long sum(long bytes) {
        CRC32C sum = new CRC32C();
        sum.update(image, 0, (int) bytes);
        return sum.getValue();
    }

    @BeforeEach
    void folder() throws IOException {
        folder = ImageTransfer.folder(archive, "preemptible", "stage");
    }

    private ImageAhead begun(int steps) throws InterruptedException {
        new Random(1).nextBytes(image);
        ImageAhead ahead = new ImageAhead(agent, folder.resolve("image"), bytes -> {}, bytes -> true);
        for (int i = 0; i < steps; i++) {
            made = Math.min(image.length, made + 700_000);
            ahead.step();
        }
        return ahead;
    }

    @Test
    void theRestIsAddedToWhatWasBroughtWhileItWasMade() throws Exception {
        ImageAhead ahead = begun(4);
        long there = ahead.bytes(image.length);
        assertTrue(there > 0 && there < image.length, "some of it: " + there);
        ImageTransfer.receive(
                (offset, most) -> {
                    assertTrue(offset >= there, "nothing is brought twice");
                    return () -> Arrays.copyOfRange(image, (int) offset, (int) Math.min(image.length, offset + most));
                },
                there,
                image.length,
                folder.resolve("image"),
                bytes -> {});
        ahead.close();
        assertArrayEquals(image, Files.readAllBytes(folder.resolve("image")));
    }

    @Test
    void aFewPiecesAreOnTheirWayOnceOneWasThere() throws Exception {
        ImageAhead ahead = begun(0);
        assertTrue(ahead.step() > 0, "it is looked for again after a pause");
        assertEquals(1, most, "nothing is there");
        made = image.length;
        assertEquals(0, ahead.step(), "there may be more at once");
        for (int i = 0; i < 20; i++) {
            ahead.step();
        }
        assertEquals(8, most);
        assertEquals(image.length / PiecesInOrder.PIECE * PiecesInOrder.PIECE, ahead.bytes(image.length));
        assertEquals(0, onTheirWay, "nobody waits for them any more");
        assertArrayEquals(
                Arrays.copyOf(image, (int) ahead.heldBytes()),
                Files.readAllBytes(folder.resolve("image")),
                "in their order");
    }

    @Test
    void noStepIsOfUseAfterAFailure() throws Exception {
        ImageAhead ahead = begun(4);
        away = true;
        assertEquals(ImageAhead.NO_MORE, ahead.step(), "the answer of an agent that is away is waited for with limits");
        away = false;
        assertEquals(ImageAhead.NO_MORE, ahead.step());
        ahead.close();
    }

    @Test
    void nothingCountsOfAnImageThatWasMadeAnew() throws Exception {
        ImageAhead ahead = begun(4);
        image[17] ^= 1;
        assertEquals(0, ahead.bytes(image.length));
    }

    @Test
    void nothingCountsOnceTheAgentWasAway() throws Exception {
        ImageAhead ahead = begun(3);
        away = true;
        ahead.step();
        away = false;
        ahead.step();
        assertEquals(0, ahead.bytes(image.length));
    }

    @Test
    void whatIsNotUsedIsRemoved() throws Exception {
        ImageAhead ahead = begun(4);
        assertTrue(Files.exists(folder.resolve("image")));
        ahead.close();
        assertFalse(Files.exists(folder.getParent()));
        assertTrue(Files.exists(archive));
    }

    @Test
    void anImageOfWhichNothingWasBroughtLeavesNoFolder() throws Exception {
        begun(0).close();
        assertFalse(Files.exists(folder.getParent()));
    }

    @Test
    void theFolderOfAnotherStageStays() throws Exception {
        Path other = ImageTransfer.folder(archive, "preemptible", "other");
        begun(1).close();
        assertFalse(Files.exists(folder));
        assertTrue(Files.exists(other));
    }

    @Test
    void oneThatIsTooLargeIsNotBrought() throws Exception {
        ImageAhead large =
                new ImageAhead(agent, folder.resolve("image"), bytes -> {}, bytes -> bytes <= PiecesInOrder.PIECE);
        made = image.length;
        large.step();
        large.step();
        assertEquals(PiecesInOrder.PIECE, Files.size(folder.resolve("image")));
        assertEquals(0, large.bytes(image.length), "it is brought as a whole, which says why not");
    }

    @Test
    void aDiskThatIsFullEndsItWithoutAFailure() throws Exception {
        ImageAhead full = new ImageAhead(
                agent,
                folder.resolve("image"),
                bytes -> {
                    throw new IOException("full");
                },
                bytes -> true);
        made = image.length;
        full.step();
        assertEquals(0, full.bytes(image.length));
        assertFalse(Files.exists(folder.resolve("image")));
    }
}
