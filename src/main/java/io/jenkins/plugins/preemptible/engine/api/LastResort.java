package io.jenkins.plugins.preemptible.engine.api;

/**
 * What is left of a stage where CRIU's files on its host cannot be restored.
 *
 * <ol>
 *   <li>{@link #ARCHIVE}: its sealed archive, which the caller brings when it is told that it is needed.
 *   <li>{@link #NONE}: nothing that the caller could bring; it has to learn why they cannot be restored.
 * </ol>
 */
public enum LastResort {
    ARCHIVE,
    NONE
}
