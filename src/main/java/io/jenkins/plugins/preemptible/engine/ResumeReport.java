package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.stage.StageId;

/**
 * What a resume took.
 *
 * <ol>
 *   <li>{@code unpackMillis}: authenticating and unpacking the archive, before any process exists; 0 when it was not
 *       needed.
 *   <li>{@code restoreMillis}: CRIU's restore, or the thaw, until the tree runs.
 *   <li>{@code processes}: how many were restored, the stage's init included; as the image tells, since short-lived ones
 *       may have ended by the time this returns.
 * </ol>
 *
 * @param tier what it was served from
 */
public record ResumeReport(StageId id, long restoreMillis, int processes, long unpackMillis, Tier tier) {}
