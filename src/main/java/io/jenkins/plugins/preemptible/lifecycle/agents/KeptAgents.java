package io.jenkins.plugins.preemptible.lifecycle.agents;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.FilePath;
import hudson.Util;
import hudson.init.InitMilestone;
import hudson.init.Initializer;
import hudson.model.Computer;
import hudson.model.ExecutorListener;
import hudson.model.Node;
import hudson.model.PeriodicWork;
import hudson.model.Slave;
import hudson.model.TaskListener;
import hudson.remoting.Channel;
import hudson.slaves.AbstractCloudSlave;
import hudson.slaves.ComputerListener;
import hudson.slaves.OfflineCause;
import hudson.slaves.RetentionStrategy;
import hudson.slaves.SlaveComputer;
import io.jenkins.plugins.preemptible.engine.policy.StageLifecycle.StageState;
import io.jenkins.plugins.preemptible.lifecycle.stage.OutlivesAgent;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRegistry;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageStateListener;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import jenkins.model.Jenkins;
import jenkins.model.NodeListener;

/**
 * Keeps an agent while it holds a suspended stage, whose processes or image are there and which has no executor.
 *
 * <ol>
 *   <li>{@link SuspendedStagesTask} makes the agent busy, so that no retention strategy takes it for idle.
 *   <li>{@link KeepingStrategy} stands in for the strategy of a cloud's agent, which may also end the agent with the task
 *       that it was made for. The agent's own strategy is back when no stage is suspended there any more.
 *   <li>An agent that its strategy has disconnected, or not started since the controller did, is connected again.
 * </ol>
 *
 * Agents that Jenkins never takes away (strategy "keep online") are left alone. From any thread; takes Jenkins' queue lock,
 * so it is never called under the registry's.
 */
@Extension
public final class KeptAgents extends PeriodicWork {

    private static final long PERIOD_MILLIS = TimeUnit.SECONDS.toMillis(15);

    /** What makes agents busy, by their names. */
    private static final Map<String, SuspendedStagesTask> BUSY = new HashMap<>();

    /** Before nodes are read: one that was saved while a strategy stood in names that as earlier versions called it. */
    @Initializer(before = InitMilestone.PLUGINS_STARTED)
    public static void alias() {
        Jenkins.XSTREAM2.addCompatibilityAlias(
                "io.jenkins.plugins.preemptible.lifecycle.KeepingStrategy", KeepingStrategy.class);
    }

    /**
     * Why an agent cannot be kept for a suspended stage, in words with a full stop; null when it can. Whatever else hears
     * of the end of a build there might take the agent away.
     */
    @CheckForNull
    public static String whyNot(@NonNull Node node) {
        if (!(node instanceof Slave slave)) {
            return null;
        }
        if (slave.getLauncher() instanceof ExecutorListener) {
            return notKept(slave.getLauncher());
        }
        if (!isStandIn(slave)) {
            return null;
        }
        boolean fixed = Util.isOverridden(Slave.class, slave.getClass(), "getRetentionStrategy")
                || Util.isOverridden(Slave.class, slave.getClass(), "setRetentionStrategy", RetentionStrategy.class);
        return fixed ? notKept(slave) : null;
    }

    private static String notKept(Object kind) {
        return "agents of this kind (" + kind.getClass().getName()
                + ") may be removed when another build on them ends, and"
                + " a suspended stage with them. Use an agent that stays, or a retention strategy that can be replaced.";
    }

    /** Whether the agent has the kind of strategy that is replaced for a time. */
    private static boolean isStandIn(Slave slave) {
        return slave instanceof AbstractCloudSlave || slave.getRetentionStrategy() instanceof ExecutorListener;
    }

    /**
     * Whether a stage is on the agent that has no executor, or is about to lose or to get it. One that is sealed with its
     * workspace goes on without the agent.
     */
    static boolean holds(String node) {
        return StageRegistry.get().all().stream()
                .anyMatch(stage -> stage.node().equals(node)
                        && stage.state() != StageState.RUNNING
                        && !OutlivesAgent.holds(stage));
    }

    /** A stage on that agent is suspended, resumed or has ended. Returns at once; takes no lock but its own. */
    static void changed(String node) {
        Jenkins jenkins = Jenkins.getInstanceOrNull();
        Node known = jenkins == null || node.isEmpty() ? null : jenkins.getNode(node);
        if (known instanceof Slave slave && leaves(slave)) {
            if (holds(node)) {
                standIn(slave);
            }
            StageThreads.soon("keeping agent " + node, () -> makeBusy(node));
        }
    }

    private static boolean leaves(Slave slave) {
        RetentionStrategy<?> strategy = slave.getRetentionStrategy();
        return strategy != RetentionStrategy.NOOP && !(strategy instanceof RetentionStrategy.Always);
    }

    @SuppressWarnings("unchecked")
    private static void standIn(Slave slave) {
        // The last thread sees the newest state of all stages.
        synchronized (BUSY) {
            boolean holds = holds(slave.getNodeName());
            RetentionStrategy<?> now = slave.getRetentionStrategy();
            if (now instanceof KeepingStrategy keeping && !holds) {
                slave.setRetentionStrategy(keeping.own());
                keeping.over(slave);
            } else if (holds && !(now instanceof KeepingStrategy) && isStandIn(slave) && whyNot(slave) == null) {
                slave.setRetentionStrategy(new KeepingStrategy((RetentionStrategy<Computer>) now));
            }
        }
    }

    private static void makeBusy(String name) {
        Jenkins jenkins = Jenkins.get();
        Node node = jenkins.getNode(name);
        Computer computer = node == null ? null : node.toComputer();
        SuspendedStagesTask begin = null;
        SuspendedStagesTask end = null;
        synchronized (BUSY) {
            boolean wanted = node instanceof Slave slave && leaves(slave) && holds(name);
            SuspendedStagesTask known = BUSY.get(name);
            if (!wanted) {
                end = BUSY.remove(name);
            } else if (computer != null && computer.isOnline() && (known == null || !known.isOf(computer))) {
                end = known;
                begin = new SuspendedStagesTask(computer);
                BUSY.put(name, begin);
            }
        }
        if (end != null) {
            end.end();
        }
        if (node instanceof Slave slave) {
            // Not before: a strategy that counts tasks must not hear of the end of this one.
            standIn(slave);
        }
        if (begin != null) {
            begin.begin();
        }
    }

    @Override
    public long getRecurrencePeriod() {
        return PERIOD_MILLIS;
    }

    @Override
    protected void doRun() {
        Set<String> names = new HashSet<>();
        synchronized (BUSY) {
            names.addAll(BUSY.keySet());
        }
        StageRegistry.get().all().forEach(stage -> names.add(stage.node()));
        for (String name : names) {
            Node node = Jenkins.get().getNode(name);
            if (node instanceof Slave slave && leaves(slave)) {
                connect(slave);
            }
            makeBusy(name);
        }
    }

    /** Not where a user wants it offline. */
    private static void connect(Slave slave) {
        SlaveComputer computer = slave.getComputer();
        if (computer != null
                && computer.isOffline()
                && computer.isLaunchSupported()
                && !computer.isConnecting()
                && (computer.getOfflineCause() == null
                        || computer.getOfflineCause() instanceof OfflineCause.IdleOfflineCause)
                && holds(slave.getNodeName())) {
            computer.connect(false);
        }
    }

    /** Stages are suspended, go on and end. */
    @Extension
    public static final class OfStages implements StageStateListener {
        @Override
        public void stateChanged(String node) {
            changed(node);
        }
    }

    /** Agents come back, are configured anew, and are removed. */
    @Extension
    public static final class Connected extends ComputerListener {
        @Override
        public void preOnline(Computer computer, Channel channel, FilePath root, TaskListener listener) {
            changed(computer.getName());
        }

        @Override
        public void onOnline(Computer computer, TaskListener listener) {
            changed(computer.getName());
        }
    }

    /** The same for what Jenkins knows of them. */
    @Extension
    public static final class Configured extends NodeListener {
        @Override
        protected void onCreated(@NonNull Node node) {
            changed(node.getNodeName());
        }

        @Override
        protected void onUpdated(@NonNull Node before, @NonNull Node now) {
            changed(now.getNodeName());
            StageThreads.soon("keeping agent " + before.getNodeName(), () -> makeBusy(before.getNodeName()));
        }

        @Override
        protected void onDeleted(@NonNull Node node) {
            StageThreads.soon("keeping agent " + node.getNodeName(), () -> makeBusy(node.getNodeName()));
        }
    }
}
