package io.jenkins.plugins.preemptible.engine.content.format;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.Arrays;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Image files are taken apart and put together again without a loss. */
class ImageFileTest {

    // One field of each wire type, a number that needs ten bytes, and one that nobody knows.
    private static final UnknownFieldSet ENTRY = UnknownFieldSet.newBuilder()
            .addField(1, Field.newBuilder().addVarint(7).addVarint(-1L).build())
            .addField(
                    2,
                    Field.newBuilder()
                            .addLengthDelimited(ByteString.copyFromUtf8("text"))
                            .build())
            .addField(3, Field.newBuilder().addFixed32(5).build())
            .addField(4, Field.newBuilder().addFixed64(6).build())
            .addField(5000, Field.newBuilder().addVarint(1).build())
            .build();

    static byte[] file(ImageKind kind, UnknownFieldSet... entries) {
        int size =
                Arrays.stream(entries).mapToInt(e -> 4 + e.getSerializedSize()).sum();
        ByteBuffer buffer = ByteBuffer.allocate(8 + size).order(ByteOrder.LITTLE_ENDIAN);
        buffer.putInt(ImageKind.COMMON_MAGIC).putInt(kind.magic());
        for (UnknownFieldSet entry : entries) {
            buffer.putInt(entry.getSerializedSize()).put(entry.toByteArray());
        }
        return buffer.array();
    }

    @Test
    void aFileComesOutAsItWentIn() throws Exception {
        byte[] content = file(ImageKind.MM, ENTRY, UnknownFieldSet.getDefaultInstance(), ENTRY);
        ImageFile file = ImageFile.parse("mm-1.img", content);
        assertTrue(file.is(ImageKind.MM));
        assertFalse(file.is(ImageKind.CORE));
        assertEquals(3, file.entries().size());
        assertArrayEquals(content, file.bytes());
        Message message = file.messages().get(0);
        assertEquals(-1, message.number(1), "the last value of a field counts");
        assertEquals(List.of(7L, -1L), message.numbers(1));
        assertEquals("text", message.text(2));
        assertEquals(0, message.number(9));
        assertEquals("", message.text(9));
        assertTrue(message.message(9).isEmpty());
    }

    @Test
    void packedNumbersAreNumbersToo() throws Exception {
        UnknownFieldSet packed = UnknownFieldSet.newBuilder()
                .addField(
                        11,
                        Field.newBuilder()
                                .addLengthDelimited(ByteString.copyFrom(new byte[] {1, (byte) 0x96, 1}))
                                .build())
                .build();
        assertEquals(List.of(1L, 150L), new Message("x", packed).numbers(11));
        UnknownFieldSet cut = UnknownFieldSet.newBuilder()
                .addField(
                        11,
                        Field.newBuilder()
                                .addLengthDelimited(ByteString.copyFrom(new byte[] {(byte) 0x96}))
                                .build())
                .build();
        assertThrows(ContentException.class, () -> new Message("x", cut).numbers(11));
    }

    @Test
    void onlyTheFirstEntryIsReadWhereDataFollows() throws Exception {
        byte[] content = Arrays.copyOf(file(ImageKind.GHOST_FILE, ENTRY), 500);
        Arrays.fill(content, 8 + 4 + ENTRY.getSerializedSize(), 500, (byte) 0xff);
        assertEquals(
                List.of(ENTRY), ImageFile.first("ghost-file-1.img", content).entries());
        assertThrows(ContentException.class, () -> ImageFile.parse("ghost-file-1.img", content));
    }

    @Test
    void everyCutIsRefusedOrEndsBetweenEntries() throws Exception {
        byte[] content = file(ImageKind.MM, ENTRY, ENTRY);
        int entry = 4 + ENTRY.getSerializedSize();
        for (int length = 0; length < content.length; length++) {
            byte[] cut = Arrays.copyOf(content, length);
            if (length == 8 || length == 8 + entry) {
                assertEquals(
                        (length - 8) / entry,
                        ImageFile.parse("mm-1.img", cut).entries().size());
            } else {
                ContentException e = assertThrows(ContentException.class, () -> ImageFile.parse("mm-1.img", cut));
                assertTrue(e.getMessage().startsWith("mm-1.img "), e.getMessage());
            }
        }
    }

    @Test
    void anEntryThatClaimsToBeHugeIsRefusedWithoutItsMemory() {
        byte[] content = Arrays.copyOf(file(ImageKind.MM), 12);
        Arrays.fill(content, 8, 12, (byte) 0xff);
        assertThrows(ContentException.class, () -> ImageFile.parse("mm-1.img", content));
    }
}
