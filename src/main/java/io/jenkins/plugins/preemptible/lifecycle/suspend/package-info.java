/**
 * The steps by which a running stage is suspended: chosen, frozen, its executor given away; or thawed when that fails.
 *
 * <p>The uppermost room of {@code lifecycle}. Used by {@code queue}, and by {@code step} after a restart. Runs on {@code
 * StageThreads} and holds the stage's {@code operation} lock. Tests: {@code SuspensionCutOffTest}, {@code FrozenFirstTest} and
 * {@code CriuFailsTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.lifecycle.suspend;
