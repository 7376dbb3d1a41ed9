/**
 * The page and the REST data of everything that is suspended, runs or waits: {@code preemptible/} below Jenkins' address.
 *
 * <p>Nothing else of the plugin uses it. Its lists and plots are made of {@code overview.parts}. It shows what the user
 * may see; it reads memory only, loads no build for a list and asks no agent. Each list is sorted and cut into pages on the
 * controller. What people do there is done by {@link io.jenkins.plugins.preemptible.manual.StageVerbs}, which checks the rights.
 * REST answers name these classes, Jenkins saves the ids of its monitors: do not move them. Each request has objects of its own, on its own
 * thread. Tests: {@code OverviewTest}, {@code MonitorsTest}.
 */
package io.jenkins.plugins.preemptible.overview;
