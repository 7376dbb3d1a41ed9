package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.util.Secret;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

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
    /** Null in older records too, whose images are full ones. */
    @CheckForNull
    private final String imageBase;

    private final boolean refused;

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
     * @param imageBase name of the full image that this one refers to, among the stage's files; null for a full one
     */
    public StageCheckpoint(
            String file,
            Secret key,
            long archiveBytes,
            SealedLuggage luggage,
            List<String> steps,
            Map<String, Long> logSizes,
            long atMillis,
            long executorMillis,
            @CheckForNull String imageBase) {
        this(file, key, archiveBytes, luggage, steps, logSizes, atMillis, executorMillis, imageBase, false);
    }

    private StageCheckpoint(
            String file,
            Secret key,
            long archiveBytes,
            SealedLuggage luggage,
            List<String> steps,
            Map<String, Long> logSizes,
            long atMillis,
            long executorMillis,
            @CheckForNull String imageBase,
            boolean refused) {
        this.file = file;
        this.key = key;
        this.archiveBytes = archiveBytes;
        this.luggage = luggage;
        // Plain ones: what Jenkins writes to disk has to be readable by any later Java.
        this.steps = new ArrayList<>(steps);
        this.logSizes = new HashMap<>(logSizes);
        this.atMillis = atMillis;
        this.executorMillis = executorMillis;
        this.imageBase = imageBase;
        this.refused = refused;
    }

    /** The same, which an agent could not restore. */
    StageCheckpoint withRefusal() {
        return new StageCheckpoint(
                file, key, archiveBytes, luggage, steps, logSizes, atMillis, executorMillis, imageBase, true);
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

    /** Name of the full image that this one refers to; null for a full one. */
    @CheckForNull
    public String imageBase() {
        return imageBase;
    }

    /** Name of the full image of its line: a later one may refer to it. */
    public String fullImage() {
        return imageBase == null ? file : imageBase;
    }

    /** The same of its files. */
    public String fullFiles() {
        return luggage.base() == null ? luggage.file() : luggage.base();
    }

    /** Whether an agent could not restore it: nothing new refers to the same full image. */
    public boolean refused() {
        return refused;
    }

    /** Names of all files that it needs. */
    public Set<String> files() {
        return Set.copyOf(new HashSet<>(List.of(file, fullImage(), luggage.file(), fullFiles())));
    }
}
