package io.jenkins.plugins.preemptible.engine.privileged;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import com.google.protobuf.UnknownFieldSet.Field;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;

/**
 * Changes fields of CRIU's images, as their owner can.
 *
 * <p>Source of the numbers: CRIU 4.2.1, {@code images/*.proto}.
 *
 * @param folder with the images of one dump
 */
record ForgedImage(Path folder) {

    /** The files whose names fit, in order; {@code core-?.img} has the numbers in order, too. */
    List<Path> files(String pattern) throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            return all.filter(f -> f.getFileName().toString().matches(pattern))
                    .sorted((a, b) -> number(a) - number(b))
                    .toList();
        }
    }

    private static int number(Path file) {
        String digits = file.getFileName().toString().replaceAll("\\D", "");
        return digits.isEmpty() ? 0 : Integer.parseInt(digits);
    }

    /**
     * Changes the messages behind a path of fields in each entry of one file.
     *
     * @return how many messages are others now
     */
    int change(Path file, List<Integer> path, UnaryOperator<UnknownFieldSet> to) throws IOException {
        byte[] content = Files.readAllBytes(file);
        // The file's content follows its one entry.
        boolean ghost = file.getFileName().toString().startsWith("ghost-file-");
        int length = ghost
                ? 12
                        + ByteBuffer.wrap(content, 8, 4)
                                .order(ByteOrder.LITTLE_ENDIAN)
                                .getInt()
                : content.length;
        ImageFile image = ImageFile.parse(file.getFileName().toString(), Arrays.copyOf(content, length));
        List<UnknownFieldSet> entries = new ArrayList<>();
        int[] count = new int[1];
        for (UnknownFieldSet entry : image.entries()) {
            entries.add(within(entry, path, message -> {
                UnknownFieldSet changed = to.apply(message);
                count[0] += message.equals(changed) ? 0 : 1;
                return changed;
            }));
        }
        entries.removeIf(e -> e == null);
        Files.write(file, image.withEntries(entries).bytes());
        Files.write(file, Arrays.copyOfRange(content, length, content.length), StandardOpenOption.APPEND);
        return count[0];
    }

    private static UnknownFieldSet within(
            UnknownFieldSet message, List<Integer> path, UnaryOperator<UnknownFieldSet> to) throws IOException {
        if (path.isEmpty()) {
            return to.apply(message);
        }
        if (!message.hasField(path.get(0))) {
            return message;
        }
        Field.Builder inner = Field.newBuilder();
        for (ByteString each : message.getField(path.get(0)).getLengthDelimitedList()) {
            inner.addLengthDelimited(within(UnknownFieldSet.parseFrom(each), path.subList(1, path.size()), to)
                    .toByteString());
        }
        return message.toBuilder().addField(path.get(0), inner.build()).build();
    }

    static UnknownFieldSet number(UnknownFieldSet message, int field, long... values) {
        Field.Builder all = Field.newBuilder();
        for (long value : values) {
            all.addVarint(value);
        }
        return message.toBuilder().addField(field, all.build()).build();
    }

    static long number(UnknownFieldSet message, int field) {
        List<Long> values = message.getField(field).getVarintList();
        return values.isEmpty() ? 0 : values.get(0);
    }

    static UnknownFieldSet text(UnknownFieldSet message, int field, String value) {
        return message.toBuilder()
                .addField(
                        field,
                        Field.newBuilder()
                                .addLengthDelimited(ByteString.copyFromUtf8(value))
                                .build())
                .build();
    }

    static String text(UnknownFieldSet message, int field) {
        List<ByteString> values = message.getField(field).getLengthDelimitedList();
        return values.isEmpty() ? "" : values.get(0).toStringUtf8();
    }
}
