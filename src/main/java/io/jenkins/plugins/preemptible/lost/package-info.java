/**
 * Agents that are gone, or about to be, and what of a suspended stage outlives them.
 *
 * <p>{@code LostAgents} says which stages have lost their agents, in memory; {@code ReturnedHosts} cleans a host that comes back
 * after its stage went elsewhere, and asks agents. Which ones are about to go is in {@code hand.DrainedAgents}. Used by {@code
 * move}, {@code queue} and {@code step}. Tests: {@code LostAgentTest} and {@code CloudMoveTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.lost;
