package io.jenkins.plugins.preemptible.engine.api;

/**
 * What a stage is resumed from, the fastest first.
 *
 * <ol>
 *   <li>{@link #FROZEN}: its tree was still there and was thawed; nothing was read.
 *   <li>{@link #LOCAL_IMAGE}: CRIU's files were still in the stage's folder; the archive was not unpacked.
 *   <li>{@link #ARCHIVE}: the sealed archive was authenticated and unpacked first.
 * </ol>
 */
public enum Tier {
    FROZEN,
    LOCAL_IMAGE,
    ARCHIVE
}
