/**
 * The command line {@code preempt}: one class a verb, and the text that it prints.
 *
 * <p>Only {@code Preempt.main} starts it; nothing else of the engine may depend on it. One thread a process. Exit
 * statuses, options and the fields of {@code --json} are an interface: scripts depend on them. Tests: {@code
 * PreemptTest} without rights, {@code PreemptLiveTest} with root and CRIU.
 */
package io.jenkins.plugins.preemptible.engine.cli;
