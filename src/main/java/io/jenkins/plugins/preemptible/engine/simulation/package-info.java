/**
 * Simulates the policy on past or made-up jobs: what would have waited, and what would have been lost.
 *
 * <p>Used by {@code preempt simulate} and by the plugin's configuration page. The decision is the real one; time is
 * simulated. One simulation belongs to one thread, several may run at a time. Tests beside it, in milliseconds.
 */
package io.jenkins.plugins.preemptible.engine.simulation;
