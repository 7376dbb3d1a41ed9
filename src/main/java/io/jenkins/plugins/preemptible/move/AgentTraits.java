package io.jenkins.plugins.preemptible.move;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.Extension;
import hudson.model.Computer;
import hudson.model.Node;
import hudson.model.TaskListener;
import hudson.remoting.VirtualChannel;
import hudson.slaves.ComputerListener;
import io.jenkins.plugins.preemptible.agent.MovingStage;
import io.jenkins.plugins.preemptible.config.PreemptibleConfiguration;
import io.jenkins.plugins.preemptible.engine.move.HostTraits;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * What the agents' hosts are like, as they said last.
 *
 * <ol>
 *   <li>{@link #of} never waits: what is missing, or half a minute old, is asked for meanwhile.
 *   <li>An agent that has connected anew is asked anew: it may be another host.
 * </ol>
 *
 * Safe for any thread.
 */
final class AgentTraits {

    private static final Logger LOGGER = Logger.getLogger(AgentTraits.class.getName());
    private static final long FRESH_NANOS = TimeUnit.SECONDS.toNanos(30);

    private static final Map<String, Known> KNOWN = new ConcurrentHashMap<>();
    private static final Set<String> ASKED = ConcurrentHashMap.newKeySet();

    private record Known(HostTraits traits, VirtualChannel connection, long atNanos) {}

    private AgentTraits() {}

    /** Null when they are not known yet. */
    @CheckForNull
    static HostTraits of(Computer computer) {
        VirtualChannel connection = computer.getChannel();
        Known known = KNOWN.get(computer.getName());
        boolean usable = known != null && known.connection == connection;
        if (connection != null && (!usable || System.nanoTime() - known.atNanos > FRESH_NANOS)) {
            ask(computer, connection);
        }
        return usable ? known.traits : null;
    }

    /** Asks the agent, unless they are known. Takes as long as the agent does; one that is offline is not asked. */
    static void learn(Node agent) throws IOException, InterruptedException {
        Computer computer = agent.toComputer();
        if (computer != null && computer.getChannel() != null && of(computer) == null) {
            asked(agent);
        }
    }

    /** Asks the agent now, and keeps what it says. */
    static HostTraits asked(Node agent) throws IOException, InterruptedException {
        Computer computer = agent.toComputer();
        VirtualChannel connection = computer == null ? null : computer.getChannel();
        HostTraits traits = MovingStage.describe(agent);
        if (connection != null) {
            KNOWN.put(computer.getName(), new Known(traits, connection, System.nanoTime()));
        }
        return traits;
    }

    private static void ask(Computer computer, VirtualChannel connection) {
        String name = computer.getName();
        Node node = computer.getNode();
        if (node == null || !ASKED.add(name)) {
            return;
        }
        StageThreads.askFor(name, "asking " + computer.getDisplayName() + " what its host is like", () -> {
            try {
                Known before = KNOWN.put(name, new Known(MovingStage.describe(node), connection, System.nanoTime()));
                if (before == null || before.connection != connection) {
                    // An item that waits for an agent that fits may have it now.
                    MoveTargetsListener.fire();
                }
            } catch (IOException | RuntimeException x) {
                LOGGER.log(Level.FINE, x, () -> "cannot ask " + name + " what its host is like");
            } finally {
                ASKED.remove(name);
            }
        });
    }

    /** So that the first stage that could move need not wait for it. */
    @Extension
    public static final class Connected extends ComputerListener {
        @Override
        public void onOnline(Computer computer, TaskListener listener) {
            if (PreemptibleConfiguration.get().isMoveStages() && Boolean.TRUE.equals(computer.isUnix())) {
                of(computer);
            }
        }
    }
}
