/**
 * Who gives way for which item of Jenkins' queue: asks the policy, and carries out its actions.
 *
 * <p>Only {@code manual} and {@code overview} use it; {@code step} and {@code lifecycle} do not know it. What the policy is told
 * is read by {@code queue.snapshot}. {@code Preemption} evaluates on one thread, never under the queue's lock. Builds save {@code
 * RunPriorityAction}: do not move it. Tests beside it; {@code PreemptionTest} and {@code SchedulingTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.queue;
