package io.jenkins.plugins.preemptible.lifecycle.image;

import static org.hamcrest.MatcherAssert.assertThat;
import static org.hamcrest.Matchers.containsString;
import static org.hamcrest.Matchers.not;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.agent.Awaited;
import io.jenkins.plugins.preemptible.agent.Pieces;
import io.jenkins.plugins.preemptible.agent.PiecesInOrder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ImageTransferTest {

    @TempDir
    Path folder;

    private static Pieces of(byte[] image) {
        return (offset, most) -> () -> offset >= image.length
                ? new byte[0]
                : Arrays.copyOfRange(image, (int) offset, (int) Math.min(image.length, offset + most));
    }

    private static byte[] random(int bytes) {
        byte[] image = new byte[bytes];
        new Random(bytes).nextBytes(image);
        return image;
    }

    @Test
    void everySizeArrivesWhole() throws Exception {
        Path to = folder.resolve("image");
        for (int size : new int[] {0, 1, PiecesInOrder.PIECE - 1, PiecesInOrder.PIECE, 2 * PiecesInOrder.PIECE + 7}) {
            byte[] image = random(size);
            ImageTransfer.receive(of(image), size, to, bytes -> {});
            assertArrayEquals(image, Files.readAllBytes(to), "replaces what was there");
        }
    }

    @Test
    void moreThanAnnouncedIsCutOffAndRemoved() throws Exception {
        Path to = folder.resolve("image");
        Files.writeString(to, "of an earlier attempt");
        List<Long> asked = new ArrayList<>();
        Pieces endless = (offset, most) -> {
            asked.add(offset + most);
            return () -> new byte[most];
        };
        IOException x =
                assertThrows(IOException.class, () -> ImageTransfer.receive(endless, 10_000_000, to, bytes -> {}));
        assertThat(x.getMessage(), containsString("more than the 10000000 bytes"));
        assertFalse(Files.exists(to));
        assertEquals(
                10_000_001, asked.stream().mapToLong(Long::longValue).max().orElseThrow(), "no byte more is taken");
    }

    @Test
    void lessThanAnnouncedIsRemoved() {
        Path to = folder.resolve("image");
        IOException x =
                assertThrows(IOException.class, () -> ImageTransfer.receive(of(random(5000)), 5001, to, bytes -> {}));
        assertThat(x.getMessage(), containsString("has sent 5000 bytes"));
        assertFalse(Files.exists(to));
    }

    @Test
    void aDiskThatGetsFullMeanwhileEndsIt() {
        Path to = folder.resolve("image");
        List<Long> required = new ArrayList<>();
        ImageTransfer.Room shrinking = bytes -> {
            required.add(bytes);
            if (required.size() == 3) {
                throw new IOException("full");
            }
        };
        int size = 4 * PiecesInOrder.PIECE;
        assertThrows(IOException.class, () -> ImageTransfer.receive(of(random(size)), size, to, shrinking));
        assertEquals(
                List.of((long) size, 3L * PiecesInOrder.PIECE, 2L * PiecesInOrder.PIECE), required, "what is to come");
        assertFalse(Files.exists(to));
    }

    @Test
    void piecesOfAnotherSizeAreRefused() {
        Path to = folder.resolve("image");
        for (int wrong : new int[] {-1, 1, 1000}) {
            assertThrows(
                    IOException.class,
                    () -> ImageTransfer.receive(
                            (offset, most) -> () -> new byte[most + wrong], 3_000_000, to, bytes -> {}));
            assertFalse(Files.exists(to));
        }
    }

    @Test
    void whateverIsThrownNothingIsLeft() {
        Path to = folder.resolve("image");
        for (Exception thrown :
                List.of(new IOException("away"), new InterruptedException(), new IllegalStateException())) {
            Exception x = assertThrows(
                    Exception.class,
                    () -> ImageTransfer.receive(
                            (offset, most) -> () -> {
                                if (offset == 0) {
                                    return new byte[most];
                                }
                                if (thrown instanceof IOException io) {
                                    throw io;
                                }
                                if (thrown instanceof InterruptedException interrupted) {
                                    throw interrupted;
                                }
                                throw (RuntimeException) thrown;
                            },
                            2L * PiecesInOrder.PIECE,
                            to,
                            bytes -> {}));
            assertEquals(thrown, x);
            assertFalse(Files.exists(to));
        }
    }

    @Test
    void aFewPiecesAreOnTheirWayAndGivenUpWhenOneFails() {
        Path to = folder.resolve("image");
        List<Long> onTheirWay = new ArrayList<>();
        List<Integer> most = new ArrayList<>();
        Pieces third = (offset, length) -> {
            onTheirWay.add(offset);
            most.add(onTheirWay.size());
            return new Awaited<>() {
                @Override
                public byte[] get() throws IOException {
                    assertEquals(offset, onTheirWay.remove(0), "in their order");
                    if (offset == 2L * PiecesInOrder.PIECE) {
                        throw new IOException("away");
                    }
                    return new byte[length];
                }

                @Override
                public void giveUp() {
                    onTheirWay.remove(offset);
                }
            };
        };
        assertThrows(IOException.class, () -> ImageTransfer.receive(third, 30L * PiecesInOrder.PIECE, to, bytes -> {}));
        assertEquals(16, most.stream().mapToInt(Integer::intValue).max().orElseThrow());
        assertEquals(List.of(), onTheirWay, "nobody waits for them any more");
    }

    @Test
    void linksThatABuildHasArchivedAreNotFollowed() throws Exception {
        Path outside = Files.createDirectory(folder.resolve("outside"));
        Path artifacts = Files.createDirectory(folder.resolve("archive"));
        Files.createSymbolicLink(artifacts.resolve("preemptible"), outside);
        IOException x =
                assertThrows(IOException.class, () -> ImageTransfer.folder(artifacts, "preemptible", "stage-00000000"));
        assertThat(x.getMessage(), containsString("preemptible among the build's artifacts is no folder"));
        assertThat(
                "a build's log is no place for the controller's paths",
                x.getMessage(),
                not(containsString(folder.toString())));
        Path own = ImageTransfer.folder(artifacts, "own", "stage-00000000");
        assertEquals(own, ImageTransfer.folder(artifacts, "own", "stage-00000000"), "also when it is there");
        Path victim = Files.writeString(outside.resolve("file"), "untouched");
        Files.createSymbolicLink(own.resolve("image"), victim);
        ImageTransfer.receive(of(random(10)), 10, own.resolve("image"), bytes -> {});
        assertEquals("untouched", Files.readString(victim));
        assertTrue(Files.isRegularFile(own.resolve("image"), java.nio.file.LinkOption.NOFOLLOW_LINKS));
        try (Stream<Path> entries = Files.list(outside)) {
            assertEquals(List.of(victim), entries.toList());
        }
    }

    @Test
    void stagesOfOneBuildMakeAndRemoveTheirFoldersAtOnce() throws Exception {
        Callable<Void> other = () -> {
            for (int i = 0; i < 3000; i++) {
                ImageTransfer.removeEmpty(ImageTransfer.folder(folder, "preemptible", "other"));
            }
            return null;
        };
        try (ExecutorService thread = Executors.newSingleThreadExecutor()) {
            Future<Void> others = thread.submit(other);
            while (!others.isDone()) {
                Path image =
                        ImageTransfer.folder(folder, "preemptible", "stage").resolve("image");
                Files.createFile(image);
                Files.delete(image);
                ImageTransfer.removeEmpty(image.getParent());
            }
            others.get();
        }
    }

    @Test
    void aLinkThatTheBuildHasArchivedIsNotRemoved() throws Exception {
        Path link = Files.createSymbolicLink(folder.resolve("preemptible"), folder.resolve("nowhere"));
        ImageTransfer.removeEmpty(link.resolve("stage"));
        assertTrue(Files.isSymbolicLink(link));
    }
}
