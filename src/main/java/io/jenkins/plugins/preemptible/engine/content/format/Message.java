package io.jenkins.plugins.preemptible.engine.content.format;

import com.google.protobuf.ByteString;
import com.google.protobuf.CodedInputStream;
import com.google.protobuf.InvalidProtocolBufferException;
import com.google.protobuf.UnknownFieldSet;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * One protobuf message, asked by field numbers.
 *
 * <ol>
 *   <li>Of a field that stands more than once the last value counts, as protobuf has it.
 *   <li>A missing number is 0, a missing text is empty; where that makes a difference, ask {@link #has}.
 *   <li>Repeated numbers are understood packed and unpacked.
 * </ol>
 *
 * Source: the protobuf encoding of proto2; the numbers are in {@link CriuFields}.
 *
 * @param file the file it comes from, for messages
 */
public record Message(String file, UnknownFieldSet fields) {

    public boolean has(int field) {
        return fields.hasField(field);
    }

    /** An unsigned or signed number, or one of an enum, or a truth value as 0 or 1. */
    public long number(int field) {
        List<Long> values = fields.getField(field).getVarintList();
        return values.isEmpty() ? 0 : values.get(values.size() - 1);
    }

    public boolean truth(int field) {
        return number(field) != 0;
    }

    public List<Long> numbers(int field) throws ContentException {
        UnknownFieldSet.Field values = fields.getField(field);
        List<Long> numbers = new ArrayList<>(values.getVarintList());
        for (ByteString packed : values.getLengthDelimitedList()) {
            CodedInputStream in = packed.newCodedInput();
            try {
                while (!in.isAtEnd()) {
                    numbers.add(in.readRawVarint64());
                }
            } catch (java.io.IOException e) {
                throw new ContentException(file, "field " + field + " is no list of numbers", e);
            }
        }
        return numbers;
    }

    ByteString bytes(int field) {
        List<ByteString> values = fields.getField(field).getLengthDelimitedList();
        return values.isEmpty() ? ByteString.EMPTY : values.get(values.size() - 1);
    }

    public String text(int field) {
        return bytes(field).toStringUtf8();
    }

    public Optional<Message> message(int field) throws ContentException {
        return has(field) ? Optional.of(parse(field, bytes(field))) : Optional.empty();
    }

    public List<Message> messages(int field) throws ContentException {
        List<Message> messages = new ArrayList<>();
        for (ByteString each : fields.getField(field).getLengthDelimitedList()) {
            messages.add(parse(field, each));
        }
        return messages;
    }

    private Message parse(int field, ByteString bytes) throws ContentException {
        try {
            return new Message(file, UnknownFieldSet.parseFrom(bytes));
        } catch (InvalidProtocolBufferException e) {
            throw new ContentException(file, "field " + field + " is no message", e);
        }
    }
}
