package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.InsideReader;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.FutureTask;
import java.util.function.BooleanSupplier;

/**
 * The privileged part of this host, from its users' side: one program, called through sudo.
 *
 * <ol>
 *   <li>It is where the administrator put it, or where PREEMPTIBLE_PRIVILEGED says; sudo decides whether it may be
 *       called.
 *   <li>A call gives a {@link Verb}, the id of a stage and a {@link HelperRequest}; the answer is a {@link
 *       HelperAnswer}.
 *   <li>Without an answer in time the caller is told so ({@link Unanswered}): a sudo that waits for a dead directory
 *       service must not hold the caller's locks for ever.
 * </ol>
 *
 * Calls block, and an interrupt does not end them: the result of what root began has to be known. Any number may run at
 * a time.
 */
public record PrivilegedPart(Path program, Path sudo) {

    /** Where {@code PrivilegedInstall} puts it by default. */
    public static final Path USUAL = Path.of("/usr/local/libexec/preemptible");

    /** The interface that this class speaks; {@code helper/helper.h} has the same number. */
    public static final int PROTOCOL = 3;

    /** The limit of a dump or a restore; the privileged part itself ends them sooner. */
    private static final Duration CRIU_LIMIT = Duration.ofMinutes(12);
    /** The limit until the first answer of a reader, which ends by itself after a minute. */
    private static final Duration INSPECT_LIMIT = TimeLimits.of(Duration.ofSeconds(30));
    /** Far longer than any other verb takes. */
    private static final Duration LIMIT = Duration.ofMinutes(5);

    /** There was no answer that can be read: whether root has done it is unknown. */
    public static final class Unanswered extends EngineException {
        private static final long serialVersionUID = 1L;

        Unanswered(String detail, Throwable cause) {
            super(FailureReason.NO_ANSWER, detail, List.of(), cause);
        }
    }

    /** The privileged part of this host, which this user may perhaps not call; empty without it or without sudo. */
    public static Optional<PrivilegedPart> find() {
        String named = System.getenv("PREEMPTIBLE_PRIVILEGED");
        Path program = named == null || !named.startsWith("/") ? USUAL : Path.of(named);
        return Files.isExecutable(program)
                ? HostTool.find("sudo").map(sudo -> new PrivilegedPart(program, sudo))
                : Optional.empty();
    }

    /**
     * How a command enters a stage.
     *
     * @throws EngineException when the paths of sudo and of this part are such that no other process would take them
     */
    public EnterCommand enter(StageId id) {
        try {
            return new EnterCommand.BySudo(id.value(), sudo.toString(), program.toString());
        } catch (IllegalArgumentException e) {
            throw new EngineException(FailureReason.LAUNCH_FAILED, program + ": " + e.getMessage(), List.of(), e);
        }
    }

    /**
     * What root knows of a stage.
     *
     * @param init its first process, as the host numbers it
     * @param group the folder of its control group
     */
    public record Seen(HostState state, long init, String group) {}

    /** Empty for a stage that root does not know. */
    public Optional<Seen> seen(StageId id) {
        try {
            return Optional.of(seen(call(Verb.STATUS, id)));
        } catch (EngineException e) {
            if (e.reason() == FailureReason.UNKNOWN_STAGE) {
                return Optional.empty();
            }
            throw e;
        }
    }

    private Seen seen(HelperAnswer answer) {
        try {
            return new Seen(answer.state(), answer.number("init"), answer.text("group"));
        } catch (IOException e) {
            throw new Unanswered(program + ": " + e.getMessage(), e);
        }
    }

    /**
     * Starts a stage of the level "checkpoints".
     *
     * @param errors for what its first process writes to standard error
     * @param hostTmp whether it keeps the host's /tmp
     */
    public Seen start(StageId id, List<String> command, Map<String, String> environment, Path errors, boolean hostTmp) {
        return seen(
                call(hostTmp ? Verb.START_HOST_TMP : Verb.START, id, HelperRequest.of(command, environment), errors));
    }

    /** @throws EngineException the refusal */
    public void freeze(StageId id) {
        call(Verb.FREEZE, id);
    }

    /** @throws EngineException the refusal */
    public void thaw(StageId id) {
        call(Verb.THAW, id);
    }

    /** Returns when nothing of it is left. */
    public void kill(StageId id) {
        call(Verb.KILL, id);
    }

    /** For a stage that does not run. */
    public void forget(StageId id) {
        call(Verb.FORGET, id);
    }

    /**
     * Reads what the kernel tells of a living stage's processes to processes of its user namespace only; of the level
     * "checkpoints". The caller closes it.
     *
     * @throws EngineException when it was refused, or gave no answer in time
     */
    public InsideReader inspect(StageId id, long init) {
        StageReader reader = null;
        try {
            Path errors = Files.createTempFile("preemptible-", ".err");
            reader = new StageReader(new SudoCall(program, sudo).start(Verb.INSPECT, id, errors), errors);
            StageReader begun = reader;
            FutureTask<Optional<byte[]>> first =
                    new FutureTask<>(() -> begun.ask(InsideReader.Question.LINK, init + "/ns/user"));
            SudoCall.onItsOwn(Verb.INSPECT, first);
            SudoCall.within(INSPECT_LIMIT, first);
            return reader;
        } catch (IOException e) {
            closeQuietly(reader);
            throw new Unanswered(
                    program + " " + Verb.INSPECT.word() + ": " + e.getMessage() + "; " + SudoCall.ANOTHER_VERSION, e);
        } catch (EngineException e) {
            closeQuietly(reader);
            throw e;
        }
    }

    private static void closeQuietly(StageReader reader) {
        if (reader != null) {
            reader.close();
        }
    }

    /**
     * Dumps a frozen stage, which is frozen afterwards.
     *
     * @param words the folder of the images, the folder for logs, options as {@code helper/checkpoint.c} has them
     * @param cancelled whether it has to end; asked every few milliseconds
     * @return criu's exit code
     */
    public int dump(StageId id, List<String> words, BooleanSupplier cancelled) {
        try {
            return (int) call(Verb.DUMP, id, HelperRequest.of(words), null, CRIU_LIMIT, cancelled)
                    .number("code");
        } catch (IOException e) {
            throw new Unanswered(program + ": " + e.getMessage(), e);
        }
    }

    /** Restores a stage, which runs when this returns; {@code words} and {@code cancelled} as for {@link #dump}. */
    public Seen restore(StageId id, List<String> words, BooleanSupplier cancelled) {
        return seen(call(Verb.RESTORE, id, HelperRequest.of(words), null, CRIU_LIMIT, cancelled));
    }

    public HelperAnswer call(Verb verb, StageId id) {
        return call(verb, id, new byte[0], null);
    }

    public HelperAnswer call(Verb verb, StageId id, byte[] request, Path errors) {
        return call(verb, id, request, errors, LIMIT);
    }

    /**
     * @param errors a file for what is written to standard error, by the stage's first process too; null for a passing
     *     one
     * @throws Unanswered when it could not be asked, or gave no answer
     * @throws EngineException what the privileged part refused
     */
    HelperAnswer call(Verb verb, StageId id, byte[] request, Path errors, Duration limit) {
        return call(verb, id, request, errors, limit, null);
    }

    /** @param cancelled null to end standard input with the request; else it ends with the work, or when this says so */
    private HelperAnswer call(
            Verb verb, StageId id, byte[] request, Path errors, Duration limit, BooleanSupplier cancelled) {
        Path words = errors;
        try {
            if (errors == null) {
                words = Files.createTempFile("preemptible-", ".err");
            }
            Process process = new SudoCall(program, sudo).start(verb, id, words);
            FutureTask<String> talk = new FutureTask<>(() -> SudoCall.talk(process, request, cancelled));
            SudoCall.onItsOwn(verb, talk);
            String answer;
            try {
                answer = SudoCall.within(limit, talk);
            } finally {
                // Only a signal: Process.destroy also closes the pipes.
                process.toHandle().destroy();
            }
            if (answer.isEmpty()) {
                throw new Unanswered(SudoCall.saying(process.waitFor(), words), null);
            }
            return HelperAnswer.parse(verb, answer);
        } catch (IOException e) {
            throw new Unanswered(
                    program + " " + verb.word() + ": " + e.getMessage() + "; " + SudoCall.ANOTHER_VERSION, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new Unanswered(program + " " + verb.word() + ": interrupted", e);
        } finally {
            if (errors == null) {
                SudoCall.deleteQuietly(words);
            }
        }
    }
}
