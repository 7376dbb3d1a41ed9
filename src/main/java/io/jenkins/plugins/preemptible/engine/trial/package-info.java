/**
 * Shows that an image can be restored before its frozen tree is killed.
 *
 * <ol>
 *   <li>{@link io.jenkins.plugins.preemptible.engine.trial.ImageTrial} restores the image a second time, beside the
 *       frozen tree, and ends the restore before one instruction of it runs.
 *   <li>The restore has namespaces and a control group of its own, and overlays over the host's file systems: it
 *       changes no file, socket, FIFO, lock or terminal of any other process.
 *   <li>The pages are left out, so that the memory's size does not count; what fails without them is tried with them.
 *   <li>{@link io.jenkins.plugins.preemptible.engine.trial.TrialElsewhere} does so on another host, from the beginning of a
 *       sealed archive.
 *   <li>{@link io.jenkins.plugins.preemptible.engine.trial.ChangeSinceDump} finds what others have changed since.
 * </ol>
 *
 * Only for images that CRIU made as root. Used by the dump, one trial of a stage at a time under the stage's lock, and by
 * agents that a stage may move to. Tests: {@code HollowTarTest}, {@code ImageTrialTest}, {@code MovedStageTest}. docs/trial.md has the measurements.
 */
package io.jenkins.plugins.preemptible.engine.trial;
