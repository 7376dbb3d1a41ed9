package io.jenkins.plugins.preemptible.engine.content.format;

import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;

/**
 * One image file of CRIU: its magics, and its entries as protobuf fields that need no generated classes.
 *
 * <ol>
 *   <li>{@link #parse} takes a file apart that holds entries only; {@link #first} reads no further than the first one,
 *       for files in which raw data follows.
 *   <li>Unknown fields stay in an entry as they are.
 *   <li>{@link #bytes} puts the file together again; without a change in between it is the same, byte for byte.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code criu/protobuf.c}.
 *
 * @param name of the file, for messages
 * @param head the magics, 4 or 8 bytes
 */
public record ImageFile(String name, List<Integer> head, List<UnknownFieldSet> entries) {

    public ImageFile {
        head = List.copyOf(head);
        entries = List.copyOf(entries);
    }

    /**
     * Reads a file that holds nothing but entries.
     *
     * @throws ContentException when its magics are unknown or an entry is cut off or no protobuf message
     */
    public static ImageFile parse(String name, byte[] content) throws ContentException {
        ByteBuffer buffer = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN);
        List<Integer> head = head(name, buffer);
        List<UnknownFieldSet> entries = new ArrayList<>();
        while (buffer.hasRemaining()) {
            entries.add(entry(name, buffer));
        }
        return new ImageFile(name, head, entries);
    }

    /**
     * Reads the first entry of a file; what follows may be anything and need not be there.
     *
     * @throws ContentException when that is not whole
     */
    public static ImageFile first(String name, byte[] content) throws ContentException {
        ByteBuffer buffer = ByteBuffer.wrap(content).order(ByteOrder.LITTLE_ENDIAN);
        return new ImageFile(name, head(name, buffer), List.of(entry(name, buffer)));
    }

    private static List<Integer> head(String name, ByteBuffer buffer) throws ContentException {
        if (buffer.remaining() < Integer.BYTES) {
            throw new ContentException(name, "it has " + buffer.remaining() + " bytes", null);
        }
        int first = buffer.getInt();
        if (first == ImageKind.INVENTORY.magic()) {
            return List.of(first);
        }
        boolean known = first == ImageKind.COMMON_MAGIC || first == ImageKind.SERVICE_MAGIC;
        if (!known || buffer.remaining() < Integer.BYTES) {
            throw new ContentException(name, "it begins with " + Integer.toHexString(first), null);
        }
        return List.of(first, buffer.getInt());
    }

    private static UnknownFieldSet entry(String name, ByteBuffer buffer) throws ContentException {
        long size = buffer.remaining() < Integer.BYTES ? -1 : Integer.toUnsignedLong(buffer.getInt());
        if (size < 0 || size > buffer.remaining()) {
            throw new ContentException(name, "it ends within an entry", null);
        }
        byte[] message = new byte[(int) size];
        buffer.get(message);
        try {
            return UnknownFieldSet.parseFrom(message);
        } catch (InvalidProtocolBufferException e) {
            throw new ContentException(name, "an entry is no protobuf message", e);
        }
    }

    /** Whether its magic is that of a kind. */
    public boolean is(ImageKind kind) {
        return head.get(head.size() - 1) == kind.magic();
    }

    /** The entries as messages whose fields can be asked for. */
    public List<Message> messages() {
        return entries.stream().map(e -> new Message(name, e)).toList();
    }

    /** The number in a field of an entry, its last value as protobuf has it; 0 when there is none. */
    public static long number(UnknownFieldSet entry, int field) {
        List<Long> values = entry.getField(field).getVarintList();
        return values.isEmpty() ? 0 : values.get(values.size() - 1);
    }

    /** A field that holds one number. */
    public static UnknownFieldSet.Field field(long value) {
        return UnknownFieldSet.Field.newBuilder().addVarint(value).build();
    }

    /** The same file with other entries. */
    public ImageFile withEntries(List<UnknownFieldSet> changed) {
        return new ImageFile(name, head, changed);
    }

    /** The file's content. */
    public byte[] bytes() {
        int size = head.size() * Integer.BYTES
                + entries.stream()
                        .mapToInt(e -> Integer.BYTES + e.getSerializedSize())
                        .sum();
        ByteBuffer buffer = ByteBuffer.allocate(size).order(ByteOrder.LITTLE_ENDIAN);
        head.forEach(buffer::putInt);
        for (UnknownFieldSet entry : entries) {
            buffer.putInt(entry.getSerializedSize()).put(entry.toByteArray());
        }
        return buffer.array();
    }
}
