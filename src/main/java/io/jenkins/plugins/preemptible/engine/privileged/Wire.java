package io.jenkins.plugins.preemptible.engine.privileged;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.ResumeFailedException;
import io.jenkins.plugins.preemptible.engine.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.Tier;
import io.jenkins.plugins.preemptible.engine.criu.Connections;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageSpec;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Path;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/**
 * What goes between a user's engine and the privileged part, as JSON.
 *
 * <ol>
 *   <li>Requests are read up to {@link #LARGEST_REQUEST} bytes; a field that is not known is refused.
 *   <li>An answer is one line with either {@code ok} or {@code failure}.
 *   <li>Paths and times are texts: nothing of a request becomes an object of a class that it names.
 * </ol>
 */
final class Wire {

    /** Bytes. The kernel takes about 2 MiB for the arguments and the environment of a process together. */
    static final int LARGEST_REQUEST = 4 * 1024 * 1024;

    private static final ObjectMapper JSON = JsonMapper.builder().build();

    private Wire() {}

    /** What {@link Verb#START} needs. {@code folder} is the user's own, for the output and the exit code. */
    record Start(
            String name,
            String workDir,
            List<String> command,
            Map<String, String> environment,
            String connections,
            String folder,
            String umask) {

        StageSpec spec(StageId id) {
            return new StageSpec(
                    id,
                    name,
                    path(workDir),
                    command,
                    environment,
                    connections == null ? Connections.REFUSE : Connections.valueOf(connections),
                    List.of());
        }

        Path ownFolder() {
            return path(folder);
        }

        private static Path path(String text) {
            if (text == null) {
                throw new IllegalArgumentException("a folder is missing");
            }
            return Path.of(text);
        }
    }

    record Freeze(long memoryFloorBytes, boolean mustNotRun) {}

    record Dump(IfDumpFails ifDumpFails) {}

    /** {@link StageStatus} without what only the user's side knows. */
    record Status(
            String id,
            String name,
            StageStatus.State state,
            long initPid,
            String workDir,
            String startedAt,
            int suspensions,
            Tier tier) {

        static Status of(StageStatus s) {
            return new Status(
                    s.id().value(),
                    s.name(),
                    s.state(),
                    s.initPid(),
                    s.workDir().toString(),
                    s.startedAt().toString(),
                    s.suspensions(),
                    s.tier());
        }

        StageStatus with(StageStatus.State trueState, Integer exitCode, Path archive, Path output, Tier trueTier) {
            return new StageStatus(
                    StageId.parse(id),
                    name,
                    trueState,
                    initPid,
                    exitCode,
                    Path.of(workDir),
                    Instant.parse(startedAt),
                    archive,
                    suspensions,
                    output,
                    trueTier);
        }
    }

    /** A refusal on its way; {@code kind} says which exception it was. */
    record Failure(String kind, FailureReason reason, String detail, List<String> criuLines) {

        static Failure of(EngineException e) {
            String kind = e instanceof SuspendFailedException
                    ? "suspend"
                    : e instanceof ResumeFailedException ? "resume" : "engine";
            return new Failure(kind, e.reason(), e.detail(), e.criuLines());
        }

        EngineException exception() {
            List<String> lines = criuLines == null ? List.of() : criuLines;
            return switch (kind) {
                case "suspend" -> new SuspendFailedException(reason, detail, lines, null);
                case "resume" -> new ResumeFailedException(reason, detail, lines, null);
                default -> new EngineException(reason, detail, lines, null);
            };
        }
    }

    private record Ok(Object ok) {}

    private record Refused(Failure failure) {}

    static byte[] ok(Object value) {
        return line(new Ok(value));
    }

    static byte[] refused(EngineException e) {
        return line(new Refused(Failure.of(e)));
    }

    private static byte[] line(Object value) {
        byte[] json = bytes(value);
        byte[] line = java.util.Arrays.copyOf(json, json.length + 1);
        line[json.length] = '\n';
        return line;
    }

    static byte[] bytes(Object value) {
        try {
            return JSON.writeValueAsBytes(value);
        } catch (IOException e) {
            throw new IllegalStateException("a message could not be written as JSON", e);
        }
    }

    /**
     * Reads a request to its end.
     *
     * @throws IllegalArgumentException when it is too large or not of this form
     */
    static <T> T request(InputStream in, Class<T> type) throws IOException {
        T value;
        try {
            value = JSON.readValue(bounded(in), type);
        } catch (com.fasterxml.jackson.core.JacksonException e) {
            throw new IllegalArgumentException("the request is not the JSON that is expected");
        }
        if (value == null) {
            throw new IllegalArgumentException("the request is empty");
        }
        return value;
    }

    /**
     * @throws IllegalArgumentException when there is more than {@link #LARGEST_REQUEST}
     */
    static byte[] bounded(InputStream in) throws IOException {
        byte[] all = in.readNBytes(LARGEST_REQUEST + 1);
        if (all.length > LARGEST_REQUEST) {
            throw new IllegalArgumentException("the request has more than " + LARGEST_REQUEST + " bytes");
        }
        return all;
    }

    /**
     * Reads an answer.
     *
     * @return what stands under {@code ok}
     * @throws EngineException the failure in it
     */
    static JsonNode answer(byte[] line) throws IOException {
        JsonNode answer = JSON.readTree(line);
        if (answer.has("failure")) {
            throw JSON.treeToValue(answer.get("failure"), Failure.class).exception();
        }
        if (!answer.has("ok")) {
            throw new IOException("no answer");
        }
        return answer.get("ok");
    }

    static <T> T as(JsonNode node, Class<T> type) throws IOException {
        return JSON.treeToValue(node, type);
    }
}
