/**
 * Finds obstacles: what ties a running stage to the outside, so that it cannot be dumped.
 *
 * <p>Used by the facade before a freeze. {@code TreeReader} reads /proc into a snapshot; {@code Obstacles} and its
 * parts name what they find in it. It changes nothing. For one thread; the stage runs meanwhile. Tests: {@code
 * ObstaclesTest} without rights, {@code PreflightTest} of the engine's package with real processes.
 */
package io.jenkins.plugins.preemptible.engine.preflight;
