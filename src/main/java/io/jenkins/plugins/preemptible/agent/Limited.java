package io.jenkins.plugins.preemptible.agent;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.FilePath;
import hudson.remoting.Channel;
import hudson.remoting.ChannelClosedException;
import hudson.remoting.RequestAbortedException;
import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.text.PlainText;
import java.io.IOException;
import java.util.Arrays;
import java.util.concurrent.CancellationException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A call to an agent, which may hang although it counts as online, and may answer anything.
 *
 * <ol>
 *   <li>Waits for the answer as long as an agent that works could need, even a busy one; {@link #actLong} waits as long as
 *       the connection holds.
 *   <li>After that the agent counts as away: an {@link IOException}, as from a connection that is lost. What was asked for
 *       may be done all the same, later: the caller finds out before it relies on either.
 *   <li>Soon after the controller has begun to close the connection, as it does for an agent that is removed, it counts as
 *       lost: a process that hangs would never close its end.
 *   <li>What is not waited for any more is stopped there, if it takes as long as the stage is large, or hangs; see
 *       {@link StoppableVerb}. A verb with a limit ends by itself.
 *   <li>An answer of another type than the verb's is an {@link IOException}. A failure that the agent reports arrives as one
 *       of three types, whatever the agent threw, with its texts cleaned.
 * </ol>
 */
final class Limited {

    /** More than any verb allows itself on the agent; shorter for tests. */
    private static final long LIMIT_MILLIS =
            Long.getLong(Limited.class.getName() + ".limitMillis", TimeUnit.MINUTES.toMillis(3));

    /** Between two looks whether the connection is being closed; an answer that is on its way arrives within that. */
    private static final long LOOK_MILLIS = TimeUnit.SECONDS.toMillis(5);

    private static final int MOST_FRAMES = 30;

    private Limited() {}

    /** The verb failed on the agent, which says so itself. */
    static final class VerbFailedException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        VerbFailedException(String words, Throwable cause) {
            super(words, cause);
        }
    }

    /** The same of an I/O error there; what has nothing to do with the agent is another {@link IOException}. */
    static final class VerbIOException extends IOException {
        private static final long serialVersionUID = 1L;
        private final boolean ofImage;

        VerbIOException(String words, Throwable cause, boolean ofImage) {
            super(words, cause);
            this.ofImage = ofImage;
        }
    }

    /** Whether the agent has answered, and no call was cut off or took too long. */
    static boolean isAnswer(Throwable failure) {
        return failure instanceof VerbIOException || failure instanceof VerbFailedException;
    }

    /** Whether the agent has said that the image it was given is of no use to anybody. */
    static boolean isOfImage(Throwable failure) {
        return failure instanceof VerbIOException reported && reported.ofImage;
    }

    /**
     * Calls with the usual limit.
     *
     * @throws IOException when the agent is away, does not answer in time, or answers what is not understood
     * @throws VerbFailedException when the verb failed
     */
    @CheckForNull
    static <T> T act(FilePath where, Class<T> type, FilePath.FileCallable<T> verb)
            throws IOException, InterruptedException {
        return act(where, type, verb, LIMIT_MILLIS);
    }

    /** The same without a limit, for what takes as long as the stage is large. */
    @CheckForNull
    static <T> T actLong(FilePath where, Class<T> type, FilePath.FileCallable<T> verb)
            throws IOException, InterruptedException {
        return act(where, type, verb, Long.MAX_VALUE);
    }

    /** The same with another limit. */
    @CheckForNull
    static <T> T act(FilePath where, Class<T> type, FilePath.FileCallable<T> verb, long limitMillis)
            throws IOException, InterruptedException {
        return ask(where, type, verb, limitMillis).get();
    }

    /** The same as {@link #act(FilePath, Class, FilePath.FileCallable)}; the limit counts from when the answer is waited for. */
    static <T> Awaited<T> ask(FilePath where, Class<T> type, FilePath.FileCallable<T> verb)
            throws IOException, InterruptedException {
        return ask(where, type, verb, LIMIT_MILLIS);
    }

    /** The same without a limit, for what takes as long as the stage is large. */
    static <T> Awaited<T> askLong(FilePath where, Class<T> type, FilePath.FileCallable<T> verb)
            throws IOException, InterruptedException {
        return ask(where, type, verb, Long.MAX_VALUE);
    }

    private static <T> Awaited<T> ask(FilePath where, Class<T> type, FilePath.FileCallable<T> verb, long limitMillis)
            throws IOException, InterruptedException {
        StoppableVerb<T> stoppable = new StoppableVerb<>(verb);
        Future<?> answer = where.actAsync(stoppable);
        return new Awaited<>() {
            @Override
            public T get() throws IOException, InterruptedException {
                try {
                    return await(answer, where.getChannel(), type, limitMillis);
                } finally {
                    stop();
                }
            }

            @Override
            public boolean isThereWithin(long millis) throws InterruptedException {
                try {
                    answer.get(millis, TimeUnit.MILLISECONDS);
                } catch (TimeoutException x) {
                    return false;
                } catch (ExecutionException | CancellationException x) {
                    // It is told when it is asked for.
                    return true;
                }
                return true;
            }

            @Override
            public void giveUp() {
                if (limitMillis == Long.MAX_VALUE) {
                    stop();
                } else {
                    answer.cancel(false);
                }
            }

            private void stop() {
                if (answer.cancel(false)) {
                    StoppableVerb.stop(stoppable, where.getChannel());
                }
            }
        };
    }

    @CheckForNull
    private static <T> T await(Future<?> answer, VirtualChannel connection, Class<T> type, long limitMillis)
            throws IOException, InterruptedException {
        Object told;
        try {
            told = answer(answer, connection, limitMillis);
        } catch (ExecutionException x) {
            Throwable failure = x.getCause();
            boolean lost = failure instanceof RequestAbortedException || failure instanceof ChannelClosedException;
            if (failure instanceof RuntimeException && !lost) {
                throw new VerbFailedException(words(failure), cleaned(failure));
            }
            if (failure instanceof IOException && !lost) {
                boolean ofImage = failure instanceof ImageException image
                        && image.reason().isOfImage();
                throw new VerbIOException(words(failure), cleaned(failure), ofImage);
            }
            throw new IOException(words(failure), cleaned(failure));
        }
        if (told != null && !type.isInstance(told)) {
            throw notUnderstood();
        }
        return type.cast(told);
    }

    private static Object answer(Future<?> answer, VirtualChannel connection, long limitMillis)
            throws IOException, ExecutionException, InterruptedException {
        long leftMillis = limitMillis;
        boolean closing = false;
        while (true) {
            long lookMillis = Math.min(leftMillis, LOOK_MILLIS);
            try {
                return answer.get(lookMillis, TimeUnit.MILLISECONDS);
            } catch (TimeoutException x) {
                leftMillis -= lookMillis;
                if (leftMillis <= 0) {
                    throw new IOException("the agent has not answered for " + limitMillis / 1000 + " s", x);
                }
                boolean closed = connection instanceof Channel channel && channel.isClosingOrClosed();
                if (closing && closed) {
                    throw new IOException("the connection to the agent was closed", x);
                }
                closing = closed;
            }
        }
    }

    /** @throws IOException when there is no answer */
    static <T> T required(@CheckForNull T answer) throws IOException {
        if (answer == null) {
            throw notUnderstood();
        }
        return answer;
    }

    static IOException notUnderstood() {
        return new IOException("the agent's answer is not understood");
    }

    private static String words(Throwable failure) {
        String words;
        try {
            words = failure.getMessage() == null ? failure.toString() : failure.getMessage();
        } catch (RuntimeException x) {
            words = failure.getClass().getName();
        }
        return PlainText.of(words);
    }

    /** What the agent threw, for the controller's log: its class, its words, where it came from; no object of its own. */
    private static Throwable cleaned(Throwable failure) {
        Throwable cleaned = new IOException(failure.getClass().getName() + ": " + words(failure));
        cleaned.setStackTrace(Arrays.stream(failure.getStackTrace())
                .limit(MOST_FRAMES)
                .map(frame -> new StackTraceElement(
                        PlainText.of(frame.getClassName()),
                        PlainText.of(frame.getMethodName()),
                        PlainText.of(frame.getFileName()),
                        frame.getLineNumber()))
                .toArray(StackTraceElement[]::new));
        return cleaned;
    }
}
