/**
 * What is read from Pipeline, and told to it: the steps in a stage, the executor of a {@code node} block, marks in the flow graph.
 *
 * <p>Private members of Pipeline are read here, each probed at start-up: {@code PlaceholderAccess}, {@code OutageClock}, {@code
 * StepsOnAgent}. Used
 * by the rooms above and by {@code step}; {@code queue} asks {@code PlaceholderAccess}, a field read that is fit for the queue's
 * lock. All else blocks for the Pipeline's thread or for an agent. Tests: {@code OutageClockTest}; {@code LongSuspensionTest},
 * {@code AgentAwayTest} and {@code StageNodesTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.lifecycle.pipeline;
