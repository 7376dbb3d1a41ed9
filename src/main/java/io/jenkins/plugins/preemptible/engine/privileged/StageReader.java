package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.host.InsideReader;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The installed program that reads {@code /proc} inside of a stage's user namespace, as the verb {@link Verb#INSPECT}
 * started it.
 *
 * <ol>
 *   <li>A request is the letter of a question, a path and a NUL; an answer a length of four bytes and as many bytes, or
 *       -1.
 *   <li>It ends by itself after a minute, and with its standard input.
 * </ol>
 *
 * Safe for any threads: they take turns.
 */
final class StageReader implements InsideReader {

    private static final Pattern REFUSAL = Pattern.compile("preemptible: ([A-Z_]+): (.*)");
    private static final int NOTHING = -1;
    private static final int LONGEST = 64 * 1024 * 1024;

    private final Process process;
    private final Path errors;
    private final OutputStream to;
    private final DataInputStream from;

    /** @param errors what it writes to standard error; removed by {@link #close} */
    StageReader(Process process, Path errors) {
        this.process = process;
        this.errors = errors;
        this.to = process.getOutputStream();
        this.from = new DataInputStream(process.getInputStream());
    }

    /** @throws EngineException when it was refused, or ended */
    @Override
    public synchronized Optional<byte[]> ask(Question question, String path) {
        if (path.isEmpty() || !Character.isDigit(path.charAt(0)) || path.indexOf('\0') >= 0) {
            return Optional.empty();
        }
        try {
            to.write((question.letter() + path + '\0').getBytes(StandardCharsets.ISO_8859_1));
            to.flush();
            int length = from.readInt();
            if (length == NOTHING) {
                return Optional.empty();
            }
            if (length < 0 || length > LONGEST) {
                throw new IOException("an answer of " + length + " bytes");
            }
            byte[] answer = from.readNBytes(length);
            if (answer.length < length) {
                throw new EOFException("the answer is cut off");
            }
            return Optional.of(answer);
        } catch (IOException e) {
            throw refusal(e);
        }
    }

    private EngineException refusal(IOException e) {
        String said = said(e);
        Matcher told = REFUSAL.matcher(said);
        Optional<FailureReason> reason = told.matches()
                ? Stream.of(FailureReason.values())
                        .filter(r -> r.name().equals(told.group(1)))
                        .findFirst()
                : Optional.empty();
        return reason.isPresent()
                ? new EngineException(reason.get(), told.group(2), List.of(), e)
                : new PrivilegedPart.Unanswered("the stage's processes cannot be read: " + said, e);
    }

    private String said(IOException e) {
        try {
            return Files.readString(errors, StandardCharsets.ISO_8859_1)
                    .lines()
                    .findFirst()
                    .orElse(String.valueOf(e.getMessage()));
        } catch (IOException another) {
            throw new UncheckedIOException(another);
        }
    }

    @Override
    public void close() {
        try {
            // With its input it ends; a signal of this user's would not reach a sudo that is root's.
            to.close();
            from.close();
        } catch (IOException e) {
            // It has ended.
        }
        process.toHandle().destroy();
        SudoCall.deleteQuietly(errors);
    }
}
