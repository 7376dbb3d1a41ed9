package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import java.util.function.Consumer;

/**
 * The records of stages, as the steps need them. {@link StageRegistry} is the real one.
 *
 * <p>Any thread. A record that was found never changes; {@link StageChanges} has the changes.
 */
public interface StageStore {

    /** Null when there is no such stage, or it has ended. */
    @CheckForNull
    StageRecord find(@CheckForNull String id);

    /**
     * Changes one stage: the change is on disk before anybody sees it.
     *
     * @return the changed stage, or null when it has ended meanwhile
     * @throws java.io.UncheckedIOException when it cannot be saved; then it is as it was
     */
    @CheckForNull
    StageRecord update(String id, Consumer<StageRecord> change);

    /**
     * Changes one stage to what is true already: shown also when the disk does not take it, which is logged then.
     *
     * @return the changed stage, or null when it has ended meanwhile
     */
    @CheckForNull
    StageRecord settle(String id, Consumer<StageRecord> change);

    /** Puts a stage whose suspension or restore was cut off back to where it was before. */
    @CheckForNull
    default StageRecord cutOff(String id) {
        return settle(id, StageChanges.cutOff());
    }
}
