/**
 * Checks whether this host can suspend and resume stages, and says what is missing.
 *
 * <p>Used by the facade, {@code preempt check} and the plugin's page of an agent. It tries CRIU, freezers and
 * namespaces for real, which takes a second or two; it leaves nothing behind. Safe for any thread. Test: {@code
 * HostReportTest}.
 */
package io.jenkins.plugins.preemptible.engine.host.check;
