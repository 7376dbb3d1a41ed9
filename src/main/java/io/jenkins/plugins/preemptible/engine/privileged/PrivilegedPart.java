package io.jenkins.plugins.preemptible.engine.privileged;

import com.fasterxml.jackson.databind.JsonNode;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.Script;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * The privileged part of this host as its users reach it: one program, called through sudo.
 *
 * <ol>
 *   <li>It is where the administrator put it, or where PREEMPTIBLE_PRIVILEGED says; sudo decides whether it may be called.
 *   <li>A call gives a verb, the id of a stage, and a request on standard input; the answer is a line of JSON.
 *   <li>A refusal arrives as the exception that it was.
 * </ol>
 *
 * Calls block; any number may run at a time.
 */
public record PrivilegedPart(Path program, Path sudo) {

    /** Where {@link PrivilegedInstall} puts it by default. */
    public static final Path USUAL = Path.of("/usr/local/libexec/preemptible");

    private static final int LONGEST_LINE = 16 * 1024 * 1024;

    /** What takes in the bytes that follow an answer. */
    interface Following {
        void take(JsonNode answer, InputStream bytes) throws IOException;
    }

    /** What gives the bytes of a request. */
    interface Giving {
        void write(OutputStream to) throws IOException;
    }

    /** The one of this host; empty when none is installed or there is no sudo. Whether it may be called shows later. */
    public static Optional<PrivilegedPart> find() {
        String named = System.getenv("PREEMPTIBLE_PRIVILEGED");
        Path program = named == null || !named.startsWith("/") ? USUAL : Path.of(named);
        return Files.isExecutable(program)
                ? HostTool.find("sudo").map(sudo -> new PrivilegedPart(program, sudo))
                : Optional.empty();
    }

    /** The words in front of a command that has to run inside a stage. */
    List<String> enter(StageId id) {
        return List.of(
                "/bin/sh",
                "-c",
                Script.text(PrivilegedPart.class, "enter-by-sudo.sh"),
                "preemptible-enter",
                sudo.toString(),
                program.toString(),
                id.value());
    }

    /** A call with a request that fits into memory. */
    JsonNode call(Verb verb, StageId id, Object request) {
        byte[] body = request == null ? new byte[0] : Wire.bytes(request);
        return call(verb, id, to -> to.write(body), (answer, bytes) -> {});
    }

    /**
     * @throws EngineException what the privileged part refused, or {@link FailureReason#NO_RIGHTS} when it could not be
     *     asked
     */
    JsonNode call(Verb verb, StageId id, Giving request, Following following) {
        List<String> command = new ArrayList<>(List.of(sudo.toString(), "-n", "--", program.toString(), verb.word()));
        if (id != null) {
            command.add(id.value());
        }
        Path words = null;
        try {
            words = Files.createTempFile("preemptible-", ".err");
            Process process = new ProcessBuilder(command)
                    .directory(new File("/"))
                    .redirectError(words.toFile())
                    .start();
            try {
                give(process, request);
                InputStream answers = process.getInputStream();
                byte[] line = line(answers);
                if (line.length > 0) {
                    JsonNode answer = Wire.answer(line);
                    following.take(answer, answers);
                    process.waitFor();
                    return answer;
                }
                process.waitFor();
            } finally {
                process.destroy();
            }
            throw new EngineException(FailureReason.NO_RIGHTS, saying(words));
        } catch (IOException e) {
            throw new EngineException(
                    FailureReason.NO_RIGHTS, program + " " + verb.word() + ": " + e.getMessage(), List.of(), e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new EngineException(FailureReason.NO_RIGHTS, "interrupted");
        } finally {
            deleteQuietly(words);
        }
    }

    private static void give(Process process, Giving request) {
        try (OutputStream to = process.getOutputStream()) {
            request.write(to);
        } catch (IOException e) {
            // It refused before it read everything: its answer says why.
        }
    }

    private static byte[] line(InputStream in) throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        int next;
        // One byte at a time: what follows the line is not this method's. The stream of a process is buffered.
        while ((next = in.read()) >= 0 && next != '\n') {
            line.write(next);
            if (line.size() > LONGEST_LINE) {
                throw new IOException("its answer is too long");
            }
        }
        return line.toByteArray();
    }

    private static String saying(Path words) throws IOException {
        return Files.readString(words, StandardCharsets.UTF_8)
                .lines()
                .filter(l -> !l.isBlank())
                .findFirst()
                .orElse("the privileged part gave no answer");
    }

    private static void deleteQuietly(Path file) {
        try {
            if (file != null) {
                Files.deleteIfExists(file);
            }
        } catch (IOException e) {
            // A few words in the folder for temporary files.
        }
    }
}
