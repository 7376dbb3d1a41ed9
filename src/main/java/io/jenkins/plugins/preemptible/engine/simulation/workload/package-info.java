/**
 * The jobs and agents that a simulation works with: read from a history, or drawn at random.
 *
 * <p>Used by {@code simulation}, the command line, and the plugin, which fills it with past builds. Immutable but for
 * the random draw, which belongs to one thread and follows from its seed. Test: {@code HistoryTest}.
 */
package io.jenkins.plugins.preemptible.engine.simulation.workload;
