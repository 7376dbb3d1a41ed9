/**
 * What people have asked for and Jenkins saves: drained agents, exempted builds, and the permissions for it.
 *
 * <p>Everything may use it; it uses nothing of the plugin. The verbs themselves are in {@code manual}. The package keeps its
 * name: ids of permissions are saved in matrices, {@code NeverPreemptAction} in builds, drains in {@code
 * preemptible-drained.xml}. {@code DrainedAgents} and {@code NeverPreemptAction.of} may be asked from any thread, under the
 * queue's lock too. Tests: in {@code manual}.
 */
package io.jenkins.plugins.preemptible.hand;
