/**
 * A suspended stage resumes on another agent.
 *
 * <p>{@code MoveTargets} says which agents a stage may go to, {@code TriedAgents} tries its image there first, {@code MovingRestorer}
 * brings it there, {@code StepsOnAgent}
 * of {@code lifecycle.pipeline} and {@code MovedDirs} let the Pipeline's steps follow, {@code LeftAgent} cleans the agents that it
 * has left. Used by the
 * step, the queue and the manual verbs. Tests: {@code MovingStageTest} on a real Jenkins with two agents.
 */
package io.jenkins.plugins.preemptible.move;
