package io.jenkins.plugins.preemptible.hand;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.ExtensionList;
import hudson.XmlFile;
import hudson.init.InitMilestone;
import hudson.init.Initializer;
import hudson.model.Node;
import hudson.model.Saveable;
import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.logging.Level;
import java.util.logging.Logger;
import jenkins.model.Jenkins;
import jenkins.model.NodeListener;

/**
 * The agents that are being drained: everything preemptible there is suspended, and nothing new starts.
 *
 * <ol>
 *   <li>An agent that is about to go is evacuated as well: its suspended stages do not wait for it.
 *   <li>Kept in {@code preemptible-drained.xml}, so that a restart of the controller undoes nothing.
 *   <li>Goes by the node's name, follows it when that changes, and ends when the node is removed.
 *   <li>{@link #contains} and {@link #evacuates} are one look-up without a lock: they are asked under the queue's lock.
 * </ol>
 */
@Extension
public final class DrainedAgents implements Saveable {

    private static final Logger LOGGER = Logger.getLogger(DrainedAgents.class.getName());

    private final Map<String, Drain> byNode = new ConcurrentHashMap<>();

    public DrainedAgents() {
        XmlFile file = file();
        if (!file.exists()) {
            return;
        }
        try {
            for (Drain drain : ((Stored) file.read()).drains) {
                byNode.put(drain.node, drain);
            }
        } catch (IOException | RuntimeException x) {
            LOGGER.log(
                    Level.SEVERE,
                    x,
                    () -> "Cannot read " + file + ": no agent counts as drained any more, and stages are resumed there."
                            + " Drain again those that are to be maintained");
        }
    }

    /** The first look-up may come under the queue's lock, which is no place to read a file. */
    @Initializer(after = InitMilestone.EXTENSIONS_AUGMENTED, before = InitMilestone.JOB_LOADED)
    public static void load() {
        get();
    }

    public static DrainedAgents get() {
        return ExtensionList.lookupSingleton(DrainedAgents.class);
    }

    /** @param node its name, empty for the built-in node */
    public boolean contains(String node) {
        return byNode.containsKey(node);
    }

    /** Whether it is about to go: its suspended stages do not wait for it. */
    public boolean evacuates(String node) {
        Drain drain = byNode.get(node);
        return drain != null && drain.evacuated;
    }

    /** Who drains it since when; null when nobody does. */
    @CheckForNull
    public Drain of(String node) {
        return byNode.get(node);
    }

    /**
     * Notes that an agent is to be drained, and saves that.
     *
     * @return false when it was noted before
     * @throws UncheckedIOException when it cannot be saved; then nothing has changed
     */
    public boolean drain(String node, String by) {
        return put(new Drain(node, by, System.currentTimeMillis(), false));
    }

    /**
     * Notes that an agent is to be drained, and that it is about to go. {@link #undo} undoes both.
     *
     * @return false when it was noted before
     * @throws UncheckedIOException when it cannot be saved; then nothing has changed
     */
    public boolean evacuate(String node, String by) {
        return put(new Drain(node, by, System.currentTimeMillis(), true));
    }

    /** @return false when as much was noted before */
    private synchronized boolean put(Drain drain) {
        Drain before = byNode.get(drain.node);
        if (before != null && (before.evacuated || !drain.evacuated)) {
            return false;
        }
        byNode.put(drain.node, drain);
        try {
            save();
        } catch (UncheckedIOException x) {
            if (before == null) {
                byNode.remove(drain.node);
            } else {
                byNode.put(drain.node, before);
            }
            throw x;
        }
        return true;
    }

    /**
     * Undoes {@link #drain}.
     *
     * @return false when it was not noted
     * @throws UncheckedIOException when that cannot be saved; then nothing has changed
     */
    public synchronized boolean undo(String node) {
        Drain drain = byNode.remove(node);
        if (drain == null) {
            return false;
        }
        try {
            save();
        } catch (UncheckedIOException x) {
            byNode.put(node, drain);
            throw x;
        }
        return true;
    }

    private synchronized void renamed(String from, String to) {
        Drain drain = byNode.remove(from);
        if (drain != null) {
            byNode.put(to, new Drain(to, drain.by, drain.sinceMillis, drain.evacuated));
            save();
        }
    }

    @Override
    public synchronized void save() {
        Stored stored = new Stored();
        stored.drains = byNode.values().toArray(new Drain[0]);
        try {
            file().write(stored);
        } catch (IOException x) {
            throw new UncheckedIOException("cannot save which agents are drained; is the controller's disk full?", x);
        }
    }

    private static XmlFile file() {
        return new XmlFile(Jenkins.XSTREAM2, new File(Jenkins.get().getRootDir(), "preemptible-drained.xml"));
    }

    /** One agent that is being drained. Never changes. */
    public static final class Drain {
        private final String node;
        private final String by;
        private final long sinceMillis;
        /** Absent in what earlier versions have saved. */
        private final boolean evacuated;

        Drain(String node, String by, long sinceMillis, boolean evacuated) {
            this.node = node;
            this.by = by;
            this.sinceMillis = sinceMillis;
            this.evacuated = evacuated;
        }

        /** Id of the user who asked for it. */
        public String by() {
            return by;
        }

        /** Milliseconds since 1970. */
        public long sinceMillis() {
            return sinceMillis;
        }

        /** Whether the agent is about to go. */
        public boolean evacuated() {
            return evacuated;
        }
    }

    /** The file's root element. */
    private static final class Stored {
        Drain[] drains = {};
    }

    /** Follows the nodes. */
    @Extension
    public static final class Nodes extends NodeListener {
        @Override
        protected void onUpdated(@NonNull Node before, @NonNull Node now) {
            if (!before.getNodeName().equals(now.getNodeName())) {
                get().renamed(before.getNodeName(), now.getNodeName());
            }
        }

        @Override
        protected void onDeleted(@NonNull Node node) {
            get().undo(node.getNodeName());
        }
    }
}
