/**
 * The steps of suspending: {@code Freezing}, {@code Dumping}, {@code CommitOrThaw}; {@code PrivilegedFreezing} without
 * images.
 *
 * <p>Only the facade and {@code engine.resume} use it. Each step may run in another process than the one before; what
 * they share is the stage's record. The stage's lock is held during a step, not between them. A failed step leaves the
 * stage as its caller asked. Tests: {@code MemoryGuardTest}, {@code PackingTest}; real CRIU in the engine's own
 * package.
 */
package io.jenkins.plugins.preemptible.engine.suspend;
