/**
 * What {@code preempt simulate} needs besides its command: options, tables, plots, and its section in a page.
 *
 * <p>Only {@code SimulateCommand} uses it. It computes nothing: the figures are those of {@code engine.simulation}. The
 * plots are the only place of the engine that draws. One thread. Test: {@code SimulateCommandTest} of {@code cli}.
 */
package io.jenkins.plugins.preemptible.engine.cli.simulate;
