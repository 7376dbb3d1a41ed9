/**
 * What happens to preemptible stages, for whoever wants to know: statistics, the history of builds, other plugins.
 *
 * <p>Other plugins implement {@link io.jenkins.plugins.preemptible.event.StageListener}. This package uses nothing of the
 * plugin; everything else may use it.
 */
package io.jenkins.plugins.preemptible.event;
