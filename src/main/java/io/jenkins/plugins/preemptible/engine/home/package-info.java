/**
 * The home folder: the stages in it, their state, their start and their end.
 *
 * <p>Used by the facade and by the steps of suspending and resuming; it knows neither. {@code Stages.lock} admits one
 * step of a stage at a time, in any process; queries take it for a moment only. A step that was cut off is finished or
 * undone here ({@code Settling}). Notes beside the stages' folders are {@code StageNotes}, those of other packages and of
 * the plugin too. Tests: {@code IncomingTest}, {@code StageLaunchTest}, {@code StageNotesTest}; {@code CutOffTest} and
 * {@code FaultTest} of the engine's package.
 */
package io.jenkins.plugins.preemptible.engine.home;
