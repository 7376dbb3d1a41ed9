package io.jenkins.plugins.preemptible.lifecycle.agents;

import edu.umd.cs.findbugs.annotations.NonNull;
import hudson.Extension;
import hudson.init.InitMilestone;
import hudson.init.Initializer;
import hudson.model.Node;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import jenkins.model.NodeListener;

/**
 * What suspensions and restores on one agent really took.
 *
 * <ol>
 *   <li>Each dump that was archived and each restore from an image adds its bytes and its time.
 *   <li>The rate is what the newest of them took, the older ones with half the weight at each step back.
 *   <li>In memory only, until the node is removed: after a restart of the controller the policy's stated defaults count
 *       until the next one.
 * </ol>
 *
 * Safe for any thread.
 */
public final class Measured {

    private static final Map<String, Measured> BY_NODE = new ConcurrentHashMap<>();
    /** What takes less says more of its fixed cost than of the rate. */
    private static final long LEAST_BYTES = 16L << 20;

    private static final long MOST_BYTES = 1L << 50;

    private long dumpRate;
    private long restoreRate;
    private long freeBytes = -1;
    private long totalBytes = -1;
    private HowSuspended how = HowSuspended.UNKNOWN;

    private Measured() {}

    /** @param node the name of an agent, empty for the built-in node */
    public static Measured of(String node) {
        return BY_NODE.computeIfAbsent(node, name -> new Measured());
    }

    /** What was measured before a controller was stopped and started again in one JVM is not the new one's. */
    @Initializer(after = InitMilestone.EXTENSIONS_AUGMENTED, before = InitMilestone.JOB_LOADED)
    public static void forgetAll() {
        BY_NODE.clear();
    }

    /** A dump was archived. Some of it is the agent's word. */
    public synchronized void dumped(long bytes, long millis) {
        dumpRate = mean(dumpRate, bytes, millis);
    }

    /** A stage was restored from an image. */
    public synchronized void restored(long bytes, long millis) {
        restoreRate = mean(restoreRate, bytes, millis);
    }

    private static long mean(long before, long bytes, long millis) {
        // Some of it is the agent's word, which may be anything.
        if (bytes < LEAST_BYTES || bytes > MOST_BYTES) {
            return before;
        }
        long rate = Math.max(1, bytes * 1000 / Math.max(1, millis));
        return before == 0 ? rate : (before + rate) / 2;
    }

    /** Its free memory as it is now; negative = unknown. */
    public synchronized void freeBytes(long bytes) {
        freeBytes = Math.max(-1, bytes);
    }

    /** Bytes a second from the freeze to the sealed image; 0 = nothing was measured. */
    public synchronized long dumpBytesPerSecond() {
        return dumpRate;
    }

    /** The same for restores from an image. */
    public synchronized long restoreBytesPerSecond() {
        return restoreRate;
    }

    /** Free memory when a stage there was last looked at; -1 = unknown. */
    public synchronized long freeBytes() {
        return freeBytes;
    }

    /** All its memory; negative = unknown. */
    public synchronized void totalBytes(long bytes) {
        totalBytes = Math.max(-1, bytes);
    }

    /** All its memory; -1 = unknown. */
    public synchronized long totalBytes() {
        return totalBytes;
    }

    synchronized void how(HowSuspended now) {
        how = now;
    }

    synchronized HowSuspended how() {
        return how;
    }

    /** Follows the nodes: of clouds' agents there are new names for ever. */
    @Extension
    public static final class Nodes extends NodeListener {
        @Override
        protected void onUpdated(@NonNull Node before, @NonNull Node now) {
            if (!before.getNodeName().equals(now.getNodeName())) {
                Measured known = BY_NODE.remove(before.getNodeName());
                if (known != null) {
                    BY_NODE.put(now.getNodeName(), known);
                }
            }
        }

        @Override
        protected void onDeleted(@NonNull Node node) {
            BY_NODE.remove(node.getNodeName());
        }
    }
}
