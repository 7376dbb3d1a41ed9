/**
 * What happened to stages: the suspensions of each build, who held the executors of an agent, and the counts of each day.
 *
 * <p>Listeners of {@link io.jenkins.plugins.preemptible.event.StageListener} fill it; pages and REST read it. It decides
 * nothing. Everything has a bound: the newest suspensions of a build, the newest spans of an agent, the newest days. Builds
 * and {@code preemptible-statistics.xml} save its classes: do not rename or move them. May be read from any thread. Test:
 * {@code TimelineTest}.
 */
package io.jenkins.plugins.preemptible.history;
