/**
 * Where priorities come from: an extension point, and what counts without the Priority Sorter plugin.
 *
 * <p>Everything may use it; it uses nothing of the plugin. Priority Sorter's own priorities are in {@code queue}, beside the
 * action that builds save. Asked off the queue's lock, since an implementation may load builds. Test: {@code
 * StepPrioritiesTest}; limits of folders are in {@code config}.
 */
package io.jenkins.plugins.preemptible.priority;
