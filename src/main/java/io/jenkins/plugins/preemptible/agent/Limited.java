package io.jenkins.plugins.preemptible.agent;

import hudson.FilePath;
import hudson.remoting.RequestAbortedException;
import java.io.IOException;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/**
 * A call to an agent that may hang, although it counts as online.
 *
 * <ol>
 *   <li>Waits for the answer as long as an agent that works could need, even a busy one.
 *   <li>After that the agent counts as away: an {@link IOException}, as from a connection that is lost.
 *   <li>What was asked for may be done all the same, later: whoever calls finds out before he relies on either.
 * </ol>
 */
final class Limited {

    /** More than any verb allows itself on the agent; shorter for tests. */
    private static final long LIMIT_MILLIS =
            Long.getLong(Limited.class.getName() + ".limitMillis", TimeUnit.MINUTES.toMillis(3));

    private Limited() {}

    /**
     * @throws IOException when the agent is away, or does not answer in time
     * @throws RuntimeException that of the verb
     */
    static <T> T act(FilePath where, FilePath.FileCallable<T> verb) throws IOException, InterruptedException {
        Future<T> answer = where.actAsync(verb);
        try {
            return answer.get(LIMIT_MILLIS, TimeUnit.MILLISECONDS);
        } catch (TimeoutException x) {
            throw new IOException("the agent has not answered for " + LIMIT_MILLIS / 1000 + " s", x);
        } catch (ExecutionException x) {
            if (x.getCause() instanceof RuntimeException failed && !(failed instanceof RequestAbortedException)) {
                throw failed;
            }
            throw x.getCause() instanceof IOException failed ? failed : new IOException(x.getCause());
        } finally {
            answer.cancel(true);
        }
    }
}
