/**
 * Numbers for monitoring: the Metrics plugin offers them, and what exports its registry, such as Prometheus' plugin.
 *
 * <p>Loaded only where the Metrics plugin is installed. Nothing else of this plugin may use this package.
 */
package io.jenkins.plugins.preemptible.metrics;
