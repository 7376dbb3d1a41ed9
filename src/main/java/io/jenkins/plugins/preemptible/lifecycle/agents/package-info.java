/**
 * What is known of each agent, and what is done with agents that hold stages: looked at, rehearsed, kept, cleaned of unknown stages.
 *
 * <p>{@code Measured} and {@code HowSuspended} are in memory and may be read from any thread. {@code KeptAgents} takes the queue's lock,
 * so it is never called under the registry's. Agents are asked on threads of {@code StageThreads}. Used by the rooms above, {@code
 * step}, {@code queue} and the pages. Nodes save {@code KeepingStrategy} under its old name, see {@code KeptAgents}. Tests beside
 * it; {@code KeptAgentTest} and {@code UnknownStagesTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.lifecycle.agents;
