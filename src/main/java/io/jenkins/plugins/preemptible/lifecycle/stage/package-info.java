/**
 * What a stage is on the controller, and the registry of all stages.
 *
 * <p>{@code StageRegistry} keeps a {@code StageRecord} of each stage and saves it in {@code StageFiles} before anybody sees it; {@code
 * StageChanges} has one method for each change of the state table. {@code LiveStage} is what is not saved. {@code StageThreads} are
 * the threads of all rooms above. The lowest room of {@code lifecycle}: each room of the plugin may use it, and it knows none of
 * them; {@code StageStateListener} tells those above of changes.
 *
 * <p>Records never change in place and are read from any thread, also under the queue's lock. The registry's monitor guards changes;
 * {@code LiveStage.operation} is the outermost lock. Files name classes as earlier versions called them, see the aliases in {@code
 * StageFiles} and {@code StageTimes}. Tests beside it; {@code Pretended}, {@code TimeSlices} and {@code HeldStage} are for other tests.
 */
package io.jenkins.plugins.preemptible.lifecycle.stage;
