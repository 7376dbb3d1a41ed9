/**
 * Who gives way for which item of Jenkins' queue: reads a snapshot, asks the policy, carries out its actions.
 *
 * <p>Only {@code manual} and {@code overview} use it; {@code step} and {@code lifecycle} do not know it. {@code Preemption}
 * evaluates on one thread, never under the queue's lock; {@code StageDispatcher} is asked under that lock, so it only looks
 * up. Builds save {@code RunPriorityAction}: do not move it. Tests beside it; {@code PreemptionTest} and {@code
 * SchedulingTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.queue;
