package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.EngineException;
import io.jenkins.plugins.preemptible.engine.criu.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * The privileged part of this host as its users reach it: one program, called through sudo.
 *
 * <ol>
 *   <li>It is where the administrator put it, or where PREEMPTIBLE_PRIVILEGED says; sudo decides whether it may be called.
 *   <li>A call gives a {@link Verb}, the id of a stage and a {@link HelperRequest}; the answer is a {@link HelperAnswer}.
 *   <li>Without an answer in time the caller is told so ({@link Unanswered}): a sudo that waits for a dead directory
 *       service must not hold the caller's locks for ever.
 * </ol>
 *
 * Calls block, an interrupt does not end them: what root began has to be known. Any number may run at a time.
 */
public record PrivilegedPart(Path program, Path sudo) {

    /** Where {@link PrivilegedInstall} puts it by default. */
    public static final Path USUAL = Path.of("/usr/local/libexec/preemptible");

    /** The interface that this class speaks; {@code helper/helper.h} has the same number. */
    static final int PROTOCOL = 2;

    private static final int NOT_UNDERSTOOD = 2;
    private static final int LONGEST_ANSWER = 64 * 1024;
    /** Far longer than any verb takes. */
    private static final Duration LIMIT = Duration.ofMinutes(5);

    /** There was no answer that is understood: whether root has done it is not known. */
    static final class Unanswered extends EngineException {
        private static final long serialVersionUID = 1L;

        Unanswered(String detail, Throwable cause) {
            super(FailureReason.NO_RIGHTS, detail, List.of(), cause);
        }
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

    HelperAnswer call(Verb verb, StageId id) {
        return call(verb, id, new byte[0], null);
    }

    HelperAnswer call(Verb verb, StageId id, byte[] request, Path errors) {
        return call(verb, id, request, errors, LIMIT);
    }

    /**
     * @param errors a file for what is written to standard error, by the stage's first process too; null for a passing one
     * @throws Unanswered when it could not be asked, or gave no answer
     * @throws EngineException what the privileged part refused
     */
    HelperAnswer call(Verb verb, StageId id, byte[] request, Path errors, Duration limit) {
        List<String> command = new ArrayList<>(List.of(sudo.toString(), "-n", "--", program.toString(), verb.word()));
        if (id != null) {
            command.add(id.value());
        }
        Path words = errors;
        try {
            if (errors == null) {
                words = Files.createTempFile("preemptible-", ".err");
            }
            Process process = new ProcessBuilder(command)
                    .directory(new File("/"))
                    .redirectError(words.toFile())
                    .start();
            FutureTask<String> talk = new FutureTask<>(() -> talk(process, request));
            // Its pipes cannot be read with a limit, nor closed meanwhile; and a sudo that is root's already cannot be
            // ended from here: then the thread stays.
            Thread talking = new Thread(talk, "preemptible " + verb.word());
            talking.setDaemon(true);
            talking.start();
            String answer;
            try {
                answer = within(limit, talk);
            } finally {
                // Only a signal: Process.destroy also closes the pipes.
                process.toHandle().destroy();
            }
            if (answer.isEmpty()) {
                throw new Unanswered(saying(process.waitFor(), words), null);
            }
            return HelperAnswer.parse(verb, answer);
        } catch (IOException e) {
            throw new Unanswered(program + " " + verb.word() + ": " + e.getMessage() + "; " + ANOTHER_VERSION, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Unanswered(program + " " + verb.word() + ": interrupted", e);
        } finally {
            if (errors == null) {
                deleteQuietly(words);
            }
        }
    }

    private static final String ANOTHER_VERSION =
            "if it is of another version, an administrator can run 'preempt install-helper' again, from this version";

    private static String talk(Process process, byte[] request) throws IOException, InterruptedException {
        try {
            try (OutputStream to = process.getOutputStream()) {
                to.write(request);
            } catch (IOException e) {
                // It refused before it read everything: its answer says why.
            }
            byte[] answer = process.getInputStream().readNBytes(LONGEST_ANSWER);
            process.waitFor();
            return new String(answer, StandardCharsets.UTF_8);
        } finally {
            process.destroy();
        }
    }

    private static String within(Duration limit, FutureTask<String> talk) throws IOException {
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
            throw e.getCause() instanceof IOException failed ? failed : new IOException(e.getCause());
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    private static String saying(int code, Path words) throws IOException {
        String said = new String(Files.readAllBytes(words), StandardCharsets.UTF_8)
                .lines()
                .filter(l -> !l.isBlank())
                .findFirst()
                .orElse("the privileged part gave no answer");
        return code == NOT_UNDERSTOOD ? said + "; " + ANOTHER_VERSION : said;
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
