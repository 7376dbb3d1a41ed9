/**
 * A suspended stage on another agent: which agent fits, and how the stage's files get there.
 *
 * <p>{@code HostTraits} describes an agent's host and is asked there; {@code HostFit} compares two of them and is pure;
 * {@code Luggage} packs the stage's workspace on one agent and unpacks it on the other. Restoring is not among it: the
 * engine restores any sealed image of a sandbox, see {@code engine.resume}. No locks; for any threads. Tests: {@code
 * HostFitTest}, {@code LuggageTest} and, with real CRIU in two roots, {@code MovedStageTest}.
 */
package io.jenkins.plugins.preemptible.engine.move;
