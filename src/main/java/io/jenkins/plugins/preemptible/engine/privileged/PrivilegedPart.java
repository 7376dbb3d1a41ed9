package io.jenkins.plugins.preemptible.engine.privileged;

import com.fasterxml.jackson.databind.JsonNode;
import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import java.io.ByteArrayOutputStream;
import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The privileged part of this host as its users reach it: one program, called through sudo.
 *
 * <ol>
 *   <li>It is where the administrator put it, or where PREEMPTIBLE_PRIVILEGED says; sudo decides whether it may be called.
 *   <li>A call gives a verb, the id of a stage, and a request on standard input; the answer is a line of JSON.
 *   <li>A refusal arrives as the exception that it was. Without an answer within {@link Verb#limit} the caller is told
 *       so ({@link Unanswered}): a sudo that waits for a dead directory service must not hold his locks for ever.
 * </ol>
 *
 * Calls block, an interrupt does not end them: what root began has to be known. Any number may run at a time.
 */
public record PrivilegedPart(Path program, Path sudo) {

    /** Where {@link PrivilegedInstall} puts it by default. */
    public static final Path USUAL = Path.of("/usr/local/libexec/preemptible");

    private static final int LONGEST_LINE = 16 * 1024 * 1024;

    /** There was no answer that is understood: whether root has done it is not known. */
    static final class Unanswered extends EngineException {
        private static final long serialVersionUID = 1L;

        Unanswered(String detail, Throwable cause) {
            super(FailureReason.NO_RIGHTS, detail, List.of(), cause);
        }
    }

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

    /**
     * How a command gets into a stage.
     *
     * @throws EngineException when the paths of sudo and of this part are such that nobody else would take them
     */
    EnterCommand enter(StageId id) {
        try {
            return new EnterCommand.BySudo(id.value(), sudo.toString(), program.toString());
        } catch (IllegalArgumentException e) {
            throw new EngineException(FailureReason.LAUNCH_FAILED, program + ": " + e.getMessage(), List.of(), e);
        }
    }

    /** A call with a request that fits into memory. */
    JsonNode call(Verb verb, StageId id, Object request) {
        byte[] body = request == null ? new byte[0] : Wire.bytes(request);
        return call(verb, id, to -> to.write(body), (answer, bytes) -> {});
    }

    /**
     * @throws Unanswered when it could not be asked, or gave no answer
     * @throws EngineException what the privileged part refused
     */
    JsonNode call(Verb verb, StageId id, Giving request, Following following) {
        return call(verb, id, request, following, verb.limit());
    }

    JsonNode call(Verb verb, StageId id, Giving request, Following following, Duration limit) {
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
            FutureTask<Optional<JsonNode>> talk = new FutureTask<>(() -> talk(process, request, following));
            // Its pipes cannot be read with a limit, nor closed meanwhile; and a sudo that is root's already cannot be
            // ended from here: then the thread stays.
            Thread talking = new Thread(talk, "preemptible " + verb.word());
            talking.setDaemon(true);
            talking.start();
            Optional<JsonNode> answer;
            try {
                answer = within(limit, talk);
            } finally {
                // Only a signal: Process.destroy also closes the pipes.
                process.toHandle().destroy();
            }
            if (answer.isEmpty()) {
                throw new Unanswered(saying(words), null);
            }
            return answer.get();
        } catch (IOException e) {
            throw new Unanswered(program + " " + verb.word() + ": " + e.getMessage(), e);
        } finally {
            deleteQuietly(words);
        }
    }

    private static Optional<JsonNode> talk(Process process, Giving request, Following following) throws Exception {
        try {
            give(process, request);
            InputStream answers = process.getInputStream();
            byte[] line = line(answers);
            Optional<JsonNode> answer = line.length == 0 ? Optional.empty() : Optional.of(Wire.answer(line));
            if (answer.isPresent()) {
                following.take(answer.get(), answers);
            }
            process.waitFor();
            return answer;
        } finally {
            process.destroy();
        }
    }

    private static <T> T within(Duration limit, Future<T> talk) throws IOException {
        boolean interrupted = false;
        long end = System.nanoTime() + limit.toNanos();
        try {
            while (true) {
                try {
                    return talk.get(end - System.nanoTime(), TimeUnit.NANOSECONDS);
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        } catch (TimeoutException e) {
            throw new IOException("no answer within " + limit.toSeconds() + " s", e);
        } catch (ExecutionException e) {
            if (e.getCause() instanceof EngineException refused) {
                throw refused;
            }
            throw e.getCause() instanceof IOException failed ? failed : new IOException(e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
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
