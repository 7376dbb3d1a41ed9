package io.jenkins.plugins.preemptible.lifecycle.stage;

import hudson.util.Secret;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/**
 * One checkpoint of a running stage, sealed among its build's artifacts. Saved with the stage's record; never changes.
 */
public final class StageCheckpoint {

    private final String file;
    private final Secret key;
    private final long archiveBytes;
    private final SealedLuggage luggage;
    private final List<String> steps;
    private final Map<String, Long> logSizes;
    private final long atMillis;
    private final long executorMillis;

    /**
     * @param file name of its image among the stage's files
     * @param key of the image
     * @param archiveBytes of the image
     * @param luggage its files of that moment
     * @param steps ids of the flow nodes of the steps that ran in the stage, by which it is known whether the Pipeline is
     *     where it was
     * @param logSizes of these steps' logs at that moment, by their control folders
     * @param atMillis in milliseconds since 1970
     * @param executorMillis for how long the stage had had executors then
     */
    public StageCheckpoint(
            String file,
            Secret key,
            long archiveBytes,
            SealedLuggage luggage,
            List<String> steps,
            Map<String, Long> logSizes,
            long atMillis,
            long executorMillis) {
        this.file = file;
        this.key = key;
        this.archiveBytes = archiveBytes;
        this.luggage = luggage;
        // Plain ones: what Jenkins writes to disk has to be readable by any later Java.
        this.steps = new ArrayList<>(steps);
        this.logSizes = new HashMap<>(logSizes);
        this.atMillis = atMillis;
        this.executorMillis = executorMillis;
    }

    public String file() {
        return file;
    }

    /** Never shown. */
    public Secret key() {
        return key;
    }

    public long archiveBytes() {
        return archiveBytes;
    }

    public SealedLuggage luggage() {
        return luggage;
    }

    public List<String> steps() {
        return List.copyOf(steps);
    }

    /** Sizes of the steps' logs at that moment, by their control folders. */
    public Map<String, Long> logSizes() {
        return Map.copyOf(logSizes);
    }

    /** In milliseconds since 1970. */
    public long atMillis() {
        return atMillis;
    }

    /** For how long the stage had had executors then. */
    public long executorMillis() {
        return executorMillis;
    }
}
