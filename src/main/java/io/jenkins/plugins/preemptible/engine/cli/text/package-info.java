/**
 * Text for a terminal: words of others made printable, tables, and refusals in one sentence.
 *
 * <p>Every command uses it; nothing outside of the command line may. Without state but for a table's rows; for one
 * thread. Test: {@code PrintableTest}.
 */
package io.jenkins.plugins.preemptible.engine.cli.text;
