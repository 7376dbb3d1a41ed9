/**
 * What happened to stages: the suspensions of each build, who held the executors of an agent, and the counts of each day.
 *
 * <ol>
 *   <li>Filled by listeners of {@link io.jenkins.plugins.preemptible.event.StageListener}, read by pages and REST.
 *   <li>Decides nothing: without this package stages are suspended and resumed as with it.
 *   <li>Everything has a bound: the newest suspensions of a build, the newest spans of an agent, the newest days.
 * </ol>
 */
package io.jenkins.plugins.preemptible.history;
