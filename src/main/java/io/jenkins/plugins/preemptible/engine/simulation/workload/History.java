package io.jenkins.plugins.preemptible.engine.simulation.workload;

import com.fasterxml.jackson.core.JsonParser;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Set;

/**
 * Reads jobs that have run from JSON lines, all of them or none.
 *
 * <ol>
 *   <li>One object a line: {@code queued}, {@code started}, {@code ended} are needed; {@code label}, {@code priority},
 *       {@code owner}, {@code job}, {@code preemptible}, {@code memory_mb} are not. Blank lines are passed over.
 *   <li>A moment is a string of ISO 8601 with its zone, or a number of milliseconds since 1970.
 *   <li>The first line that is not such an object is refused with its number and what is wrong: a name that is not
 *       known is, too, since it is a slip of the keyboard more often than not.
 * </ol>
 */
public final class History {

    /** What a job without a priority has. */
    public static final int DEFAULT_PRIORITY = 3;

    /** More would not fit the memory of a usual JVM. */
    static final int MOST_LINES = 1_000_000;

    private static final long LATEST_MILLIS =
            Instant.parse("2200-01-01T00:00:00Z").toEpochMilli();
    private static final long MOST_MEGABYTES = 1L << 30;

    private static final Set<String> FIELDS = Set.of(
            "queued", "started", "ended", "label", "priority", "owner", "job", "preemptible", "memory_mb", "dumpable");

    private static final ObjectMapper JSON = JsonMapper.builder()
            .enable(JsonParser.Feature.STRICT_DUPLICATE_DETECTION)
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private History() {}

    /**
     * Reads a file.
     *
     * @throws HistoryException when a line is broken, or there is none
     * @throws IOException when the file cannot be read
     */
    public static List<PastJob> read(Path file) throws HistoryException, IOException {
        byte[] bytes = Files.readAllBytes(file);
        // The decoder throws for what is not UTF-8; a reader of Files would say of no line where.
        try (Reader reader =
                new InputStreamReader(new ByteArrayInputStream(bytes), StandardCharsets.UTF_8.newDecoder())) {
            return read(reader);
        } catch (CharacterCodingException e) {
            throw new HistoryException(lineOfBadBytes(bytes), "it is not UTF-8");
        }
    }

    private static int lineOfBadBytes(byte[] bytes) {
        int line = 1;
        int from = 0;
        for (int i = 0; i <= bytes.length; i++) {
            if (i == bytes.length || bytes[i] == '\n') {
                if (!isUtf8(bytes, from, i)) {
                    return line;
                }
                from = i + 1;
                line++;
            }
        }
        return line;
    }

    private static boolean isUtf8(byte[] bytes, int from, int to) {
        try {
            StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes, from, to - from));
            return true;
        } catch (CharacterCodingException e) {
            return false;
        }
    }

    static List<PastJob> read(Reader source) throws HistoryException, IOException {
        BufferedReader reader = new BufferedReader(source);
        List<PastJob> jobs = new ArrayList<>();
        int number = 0;
        for (String line = reader.readLine(); line != null; line = reader.readLine()) {
            number++;
            if (number > MOST_LINES) {
                throw new HistoryException(number, "there are more than " + MOST_LINES + " lines; give fewer days");
            }
            if (!line.isBlank()) {
                jobs.add(job(line, number));
            }
        }
        if (jobs.isEmpty()) {
            throw new HistoryException(Math.max(1, number), "there is no job in the file");
        }
        return jobs;
    }

    private static PastJob job(String line, int number) throws HistoryException {
        try {
            JsonNode object = JSON.readTree(line);
            if (!object.isObject()) {
                throw new IllegalArgumentException("it is no JSON object");
            }
            for (Iterator<String> names = object.fieldNames(); names.hasNext(); ) {
                String name = names.next();
                if (!FIELDS.contains(name)) {
                    throw new IllegalArgumentException("'" + shortened(name) + "' is not known; known are "
                            + String.join(", ", FIELDS.stream().sorted().toList()));
                }
            }
            long megabytes = number(object, "memory_mb", -1, 0, MOST_MEGABYTES);
            return new PastJob(
                    text(object, "job"),
                    moment(object, "queued"),
                    moment(object, "started"),
                    moment(object, "ended"),
                    text(object, "label"),
                    (int) number(object, "priority", DEFAULT_PRIORITY, -1_000_000, 1_000_000),
                    text(object, "owner"),
                    bool(object, "preemptible"),
                    megabytes < 0 ? -1 : megabytes << 20,
                    bool(object, "dumpable"));
        } catch (JsonProcessingException e) {
            throw new HistoryException(number, "it is no JSON: " + e.getOriginalMessage());
        } catch (IllegalArgumentException e) {
            throw new HistoryException(number, e.getMessage());
        }
    }

    private static long moment(JsonNode object, String name) {
        JsonNode value = object.get(name);
        if (value == null || value.isNull()) {
            throw new IllegalArgumentException("'" + name + "' is missing");
        }
        long millis;
        if (value.isIntegralNumber() && value.canConvertToLong()) {
            millis = value.longValue();
        } else if (value.isTextual()) {
            millis = parsed(name, value.textValue());
        } else {
            throw new IllegalArgumentException(noMoment(name, value.toString()));
        }
        if (millis < 0 || millis > LATEST_MILLIS) {
            throw new IllegalArgumentException(
                    "'" + name + "' is not between 1970 and 2200: " + shortened(value.asText()));
        }
        return millis;
    }

    private static long parsed(String name, String text) {
        try {
            return OffsetDateTime.parse(text).toInstant().toEpochMilli();
        } catch (DateTimeException | ArithmeticException e) {
            throw new IllegalArgumentException(noMoment(name, text));
        }
    }

    private static String noMoment(String name, String value) {
        return "'" + name + "' must be milliseconds since 1970 or a moment like 2026-01-31T08:15:00Z, but is "
                + shortened(value);
    }

    private static String text(JsonNode object, String name) {
        JsonNode value = object.get(name);
        if (value == null || value.isNull()) {
            return "";
        }
        if (!value.isTextual()) {
            throw new IllegalArgumentException(
                    "'" + name + "' must be a string, but is " + shortened(value.toString()));
        }
        return value.textValue();
    }

    private static long number(JsonNode object, String name, long otherwise, long least, long most) {
        JsonNode value = object.get(name);
        if (value == null || value.isNull()) {
            return otherwise;
        }
        boolean fits = value.isIntegralNumber()
                && value.canConvertToLong()
                && value.longValue() >= least
                && value.longValue() <= most;
        if (!fits) {
            throw new IllegalArgumentException("'" + name + "' must be a whole number from " + least + " to " + most
                    + ", but is " + shortened(value.toString()));
        }
        return value.longValue();
    }

    // Preemptible, and dumpable, unless it says otherwise: few histories know, and the question is what it would bring.
    private static boolean bool(JsonNode object, String name) {
        JsonNode value = object.get(name);
        if (value == null || value.isNull()) {
            return true;
        }
        if (!value.isBoolean()) {
            throw new IllegalArgumentException(
                    "'" + name + "' must be true or false, but is " + shortened(value.toString()));
        }
        return value.booleanValue();
    }

    private static String shortened(String text) {
        String line = text.replaceAll("\\p{Cntrl}", "?");
        return line.length() <= 60 ? line : line.substring(0, 57) + "...";
    }
}
