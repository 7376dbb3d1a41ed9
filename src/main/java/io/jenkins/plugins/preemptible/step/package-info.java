/**
 * The Pipeline step {@code preemptible}: its block, its queue item, and what it does around the body.
 *
 * <p>Only {@code queue} and {@code declarative} use it. Running builds save executions, contexts, callbacks and decorators in
 * {@code program.dat}, and the queue saves {@code StageTask}: do not rename or move any of them, and change fields only so
 * that older ones can be read. Callbacks run on Pipeline's threads and must not block. Tests: {@code
 * PreemptibleStepPageTest}; {@code StepsTest} and {@code RestartTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.step;
