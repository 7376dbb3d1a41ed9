/**
 * What people do to stages and agents: suspend, resume, drain, exempt; on pages, by REST and by commands.
 *
 * <p>{@code StageVerbs}, {@code AgentVerbs} and {@code SwitchVerbs} check the permission first; only pages use them. They
 * note what is wanted and ask the queue for an evaluation, which carries it out: the queue does not know this package. From
 * any thread, under no lock; nothing here waits for an agent. Tests beside it: {@code ManualActionsTest} and {@code
 * MatrixPermissionsTest}; with real agents {@code ManualTest} and {@code ManualRestartTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.manual;
