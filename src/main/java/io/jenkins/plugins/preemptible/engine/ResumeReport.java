package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.stage.StageId;

/**
 * What a resume took.
 *
 * <ol>
 *   <li>{@code unpackMillis}: authenticating and unpacking the archive, before any process exists.
 *   <li>{@code restoreMillis}: CRIU's restore, until the tree runs.
 *   <li>{@code processes}: how many processes run again, the stage's init included.
 * </ol>
 */
public record ResumeReport(StageId id, long restoreMillis, int processes, long unpackMillis) {}
