/**
 * Calls to the agent's machine: each verb of the engine as one remote call with a limit of time.
 *
 * <p>Used by {@code lifecycle}, {@code step}, {@code move} and {@code queue.snapshot}. What travels over the channel is here and is serializable. What an agent
 * answers is checked in {@code Answers} and not trusted. Calls block: from background threads only, under no lock. Tests:
 * {@code AgentAnswersTest}, {@code RehearsalTest}; {@code HostileAgentTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.agent;
