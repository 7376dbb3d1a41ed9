/**
 * Numbers for monitoring: the Metrics plugin offers them to what exports its registry, such as Prometheus' plugin.
 *
 * <p>Loaded only where the Metrics plugin is installed: nothing else of this plugin may use it. Counts events on the thread
 * of each event, and reads the registry's memory when it is asked; takes no lock. Test: {@code PreemptibleMetricsTest}.
 */
package io.jenkins.plugins.preemptible.metrics;
