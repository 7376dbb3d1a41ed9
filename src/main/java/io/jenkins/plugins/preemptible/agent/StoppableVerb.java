package io.jenkins.plugins.preemptible.agent;

import hudson.FilePath.FileCallable;
import hudson.remoting.VirtualChannel;
import java.io.File;
import java.io.IOException;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.MasterToSlaveFileCallable;
import jenkins.security.MasterToSlaveCallable;

/**
 * A verb on an agent that can be stopped, in place of the cancelling of Jenkins' remoting.
 *
 * <p>That interrupts the thread also while it sends the answer. Over a WebSocket ({@code hudson.remoting.Engine}, 3355) the rest of an
 * answer of more than 8 kB then goes in front of the next command, which the other end takes for a part of it: an answer is
 * lost that somebody waits for, and the connection looks healthy.
 *
 * <ol>
 *   <li>{@link Stop} interrupts the verb, and nothing else: without effect before it begins and after it has ended.
 *   <li>An interrupt that the verb has not noticed does not outlive it.
 * </ol>
 */
final class StoppableVerb<T> extends MasterToSlaveFileCallable<T> {

    private static final long serialVersionUID = 1L;
    private static final Logger LOGGER = Logger.getLogger(StoppableVerb.class.getName());

    /** The verbs that run in this JVM; its own lock guards the interrupts, too. */
    private static final Map<String, Thread> RUNNING = new HashMap<>();

    private final String call = UUID.randomUUID().toString();
    private final FileCallable<T> verb;

    StoppableVerb(FileCallable<T> verb) {
        this.verb = verb;
    }

    FileCallable<T> verb() {
        return verb;
    }

    /** Has it stopped soon, where the agent can be reached; does not wait. */
    static void stop(StoppableVerb<?> verb, VirtualChannel agent) {
        try {
            agent.callAsync(new Stop(verb.call));
        } catch (IOException | RuntimeException x) {
            LOGGER.log(
                    Level.FINE, x, () -> "the connection is lost: what " + verb + " does is found out when it is back");
        }
    }

    @Override
    public T invoke(File where, VirtualChannel channel) throws IOException, InterruptedException {
        synchronized (RUNNING) {
            RUNNING.put(call, Thread.currentThread());
        }
        try {
            return verb.invoke(where, channel);
        } finally {
            synchronized (RUNNING) {
                RUNNING.remove(call);
            }
            Thread.interrupted();
        }
    }

    @Override
    public String toString() {
        return verb.toString();
    }

    /** Stops that verb, on the agent where it runs. */
    static final class Stop extends MasterToSlaveCallable<Void, RuntimeException> {

        private static final long serialVersionUID = 1L;

        private final String call;

        Stop(String call) {
            this.call = call;
        }

        @Override
        public Void call() {
            synchronized (RUNNING) {
                Thread thread = RUNNING.get(call);
                if (thread != null) {
                    thread.interrupt();
                }
            }
            return null;
        }
    }
}
