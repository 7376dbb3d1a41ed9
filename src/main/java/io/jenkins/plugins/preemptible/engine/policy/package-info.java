/**
 * Who gives way: the decision, as a pure function of a snapshot.
 *
 * <p>Used by the plugin's queue, by the simulation and by the demonstration. It has no clock, no chance, no I/O; {@code
 * WallTest} keeps it so. Builds store names of {@code Reason} and {@code StageState}: do not rename or move them.
 * Immutable, safe for any thread. Tests beside it: examples, and properties over generated snapshots.
 */
package io.jenkins.plugins.preemptible.engine.policy;
