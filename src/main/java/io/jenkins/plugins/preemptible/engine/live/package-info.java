/**
 * A checkpoint of a stage that keeps running: an image of its processes and a consistent copy of its files.
 *
 * <p>{@code LiveCheckpoint} takes the steps, {@code Mirror} copies the files, {@code ThawGuard} thaws the stage when this
 * process dies. Used by the engine alone. The stage's lock is held while the stage stands still. Tests: {@code MirrorTest}
 * and, with real CRIU, {@code LiveCheckpointTest}.
 */
package io.jenkins.plugins.preemptible.engine.live;
