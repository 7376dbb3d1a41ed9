/**
 * What happens to a stage on the controller: registered, suspended, sealed, resumed, ended.
 *
 * <p>{@code StageRegistry} keeps a record of each stage and saves it; {@code Suspension}, {@code Sealing} and {@code
 * Resumption} are the steps, {@code LiveStage} is what is not saved. Used by {@code step}, {@code queue} and {@code manual}; it
 * knows none of them. Steps run on {@code StageThreads} and block; records may be read from any thread. {@code StageRecord},
 * its file and the causes of interruption are saved: do not move them. Tests beside it, and all of {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.lifecycle;
