/**
 * The home folder: the stages in it, what is true of each of them now, and their start and end.
 *
 * <p>Used by the facade and by the steps of suspending and resuming; it knows neither. {@code Stages.lock} admits one
 * step of a stage at a time, in any process; queries take it for a moment only. What a cut-off step left is mended
 * here. Tests: {@code IncomingTest}, {@code StageLaunchTest}; {@code CutOffTest} and {@code FaultTest} of the engine's
 * package.
 */
package io.jenkins.plugins.preemptible.engine.home;
