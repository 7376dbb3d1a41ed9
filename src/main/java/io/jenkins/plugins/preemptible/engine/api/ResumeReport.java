package io.jenkins.plugins.preemptible.engine.api;

import java.util.List;

/**
 * What a resume took.
 *
 * <ol>
 *   <li>{@code unpackMillis}: authenticating and unpacking the archive, before any process exists; 0 when it was not
 *       needed.
 *   <li>{@code restoreMillis}: CRIU's restore, or the thaw, until the tree runs.
 *   <li>{@code processes}: how many were restored, the stage's init included; as the image tells, since short-lived
 *       ones may have ended by the time this returns.
 * </ol>
 *
 * @param tier what it was resumed from
 * @param warnings what differs between the host of the image and this one, sentences without a final stop
 */
public record ResumeReport(
        StageId id, long restoreMillis, int processes, long unpackMillis, Tier tier, List<String> warnings) {

    public ResumeReport {
        warnings = List.copyOf(warnings);
    }

    public ResumeReport(StageId id, long restoreMillis, int processes, long unpackMillis, Tier tier) {
        this(id, restoreMillis, processes, unpackMillis, tier, List.of());
    }
}
