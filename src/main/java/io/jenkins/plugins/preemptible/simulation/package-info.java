/**
 * Past builds replayed with settings: what they held of the agents, and how the policy would have shared them.
 *
 * <p>Only {@code overview} uses it; it uses {@code config}, whose words it shares, and the engine's simulation. Nothing is
 * saved: the newest results stay in memory. A simulation loads builds, on a thread of its own and with the rights of the
 * user who started it; results may be read from any thread. Tests beside it: {@code RealBuildsTest}, {@code
 * SimulationPageTest}.
 */
package io.jenkins.plugins.preemptible.simulation;
