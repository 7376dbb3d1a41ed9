package io.jenkins.plugins.preemptible.lifecycle.image;

import hudson.model.Node;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.Nodes;
import io.jenkins.plugins.preemptible.lifecycle.stage.LiveStage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageLog;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageThreads;
import java.io.IOException;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Says in the build log how far an image has come that takes long to make.
 *
 * <ol>
 *   <li>The first line comes after {@value #FIRST_MILLIS} ms, each next one after twice the time: an hour has ten lines.
 *   <li>The percentage is that of the dump: how large the archive will be, nobody knows.
 *   <li>An agent that does not answer is asked no more; the image is made without that.
 * </ol>
 */
public final class SealingProgress implements AutoCloseable {

    private static final Logger LOGGER = Logger.getLogger(SealingProgress.class.getName());
    private static final long FIRST_MILLIS = 5_000;

    private final LiveStage live;
    private final String agent;
    private final long residentBytes;
    private final long began = System.nanoTime();
    private volatile boolean closed;

    private SealingProgress(LiveStage live, String agent) {
        this.live = live;
        this.agent = agent;
        this.residentBytes = live.memory().residentBytes();
    }

    /** Until it is closed. */
    public static SealingProgress of(LiveStage live, String agent) {
        SealingProgress progress = new SealingProgress(live, agent);
        progress.next(FIRST_MILLIS);
        return progress;
    }

    private void next(long delayMillis) {
        StageThreads.askFor(agent, "asking how far the image of stage " + live.id() + " is", delayMillis, () -> {
            if (!closed && tell()) {
                next(2 * delayMillis);
            }
        });
    }

    private boolean tell() throws InterruptedException {
        AgentStage.Growth growth;
        try {
            Node node = Nodes.named(agent);
            growth = AgentStage.on(node, live.id()).growth();
        } catch (IOException | RuntimeException x) {
            LOGGER.log(Level.FINE, x, () -> "it is not known how far the image of " + live.id() + " is");
            return false;
        }
        long millis = TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - began);
        String line = line(growth.imageBytes(), growth.archiveBytes(), residentBytes, millis);
        if (!closed && !line.isEmpty()) {
            StageLog.line(live.context(), line);
        }
        return true;
    }

    /** Empty when nothing can be seen. */
    static String line(long imageBytes, long archiveBytes, long residentBytes, long millis) {
        if (imageBytes + archiveBytes == 0) {
            return "";
        }
        String percent = residentBytes > 0 ? " (" + Math.min(100, 100 * imageBytes / residentBytes) + " %)" : "";
        String sealed = archiveBytes == 0 ? "" : ", sealed into " + StageLog.size(archiveBytes) + " so far";
        return "Image after " + StageLog.time(millis) + ": " + StageLog.size(imageBytes) + percent + " dumped" + sealed
                + ", " + StageLog.size(1_000 * (imageBytes + archiveBytes) / Math.max(1, millis)) + "/s.";
    }

    @Override
    public void close() {
        closed = true;
    }
}
