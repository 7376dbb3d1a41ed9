package io.jenkins.plugins.preemptible.engine.fixup;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ExpiredTimerfdTest {

    /** The magics of {@code files.img}. */
    private static final List<Integer> HEAD = List.of(0x54564319, 0x56303138);

    @TempDir
    Path folder;

    private static Field number(long value) {
        return Field.newBuilder().addVarint(value).build();
    }

    private static UnknownFieldSet timer(long ticks, long seconds, long nanos, long everySeconds, long everyNanos) {
        UnknownFieldSet timer = UnknownFieldSet.newBuilder()
                .addField(1, number(7))
                .addField(4, number(1))
                .addField(5, number(ticks))
                .addField(7, number(seconds))
                .addField(8, number(nanos))
                .addField(9, number(everySeconds))
                .addField(10, number(everyNanos))
                .build();
        return UnknownFieldSet.newBuilder()
                .addField(1, number(17))
                .addField(
                        12,
                        Field.newBuilder()
                                .addLengthDelimited(timer.toByteString())
                                .build())
                .build();
    }

    private static final UnknownFieldSet OTHER =
            UnknownFieldSet.newBuilder().addField(1, number(1)).build();

    @Test
    void anExpiredPeriodicOneIsArmed() throws Exception {
        Path file = Files.write(
                folder.resolve("files.img"),
                new ImageFile("files.img", HEAD, List.of(OTHER, timer(3, 0, 0, 2, 500))).bytes());
        assertTrue(new ExpiredTimerfd().apply(folder));
        ImageFile fixed = ImageFile.parse("files.img", Files.readAllBytes(file));
        assertEquals(List.of(OTHER, timer(3, 2, 500, 2, 500)), fixed.entries());
        assertFalse(new ExpiredTimerfd().apply(folder), "once is enough");
    }

    @Test
    void othersStayAsTheyAre() throws Exception {
        byte[] before = new ImageFile(
                        "files.img",
                        HEAD,
                        List.of(OTHER, timer(1, 0, 0, 0, 0), timer(0, 0, 0, 2, 0), timer(1, 0, 30, 2, 0)))
                .bytes();
        Path file = Files.write(folder.resolve("files.img"), before);
        assertFalse(new ExpiredTimerfd().apply(folder));
        assertArrayEquals(before, Files.readAllBytes(file));
    }

    @Test
    void anImageWithoutOpenFilesIsLeftAlone() throws Exception {
        assertFalse(new ExpiredTimerfd().apply(folder));
    }
}
