/**
 * The demonstration {@code preempt demo}: two real stages on one executor, without Jenkins.
 *
 * <p>Only the command line uses it. It calls the engine from outside, as the plugin does, and decides by the real
 * policy. One thread. Tests: {@code CountedWorkTest}; {@code PreemptLiveTest} runs the whole.
 */
package io.jenkins.plugins.preemptible.engine.demo;
