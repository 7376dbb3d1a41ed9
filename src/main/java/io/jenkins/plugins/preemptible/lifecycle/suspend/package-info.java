/**
 * The steps by which a running stage is suspended: chosen, frozen, its executor given away; or thawed when that fails.
 *
 * <p>{@code SuspensionSteps} are given all that they touch: records, clock, agent, executor, build and image, each an interface.
 * {@code Suspension} gives them Jenkins by the classes that begin with {@code Its}. The uppermost room of {@code lifecycle}. Used by
 * {@code queue}, and by {@code step} after a restart. Runs on {@code StageThreads} and holds the stage's {@code operation} lock.
 * Tests: {@code SuspensionStepsTest} has each row of the state table without Jenkins, in milliseconds; {@code
 * SuspensionCutOffTest}, {@code FrozenFirstTest} and {@code CriuFailsTest} in {@code acceptance} are on a real one.
 */
package io.jenkins.plugins.preemptible.lifecycle.suspend;
