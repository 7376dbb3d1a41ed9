/**
 * What happens to preemptible stages, for statistics, the history of builds, and other plugins.
 *
 * <p>Other plugins implement {@link io.jenkins.plugins.preemptible.event.StageListener}: do not rename or move what it
 * gets. This package uses nothing of the plugin; everything else may use it. Listeners are called in the order of events,
 * on any thread that may do I/O; the stage waits for them. Tests are those of the listeners: {@code TimelineTest}, {@code
 * PreemptibleMetricsTest}.
 */
package io.jenkins.plugins.preemptible.event;
