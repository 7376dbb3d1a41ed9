/**
 * Runs CRIU's own test suite, ZDTM, as stages: {@code ./preempt compat --zdtm DIR}.
 *
 * <p>{@link io.jenkins.plugins.preemptible.engine.zdtm.ZdtmCommand} gives the tests to worker processes, one network
 * namespace each; a {@link io.jenkins.plugins.preemptible.engine.zdtm.ZdtmWorker} runs them one by one.
 */
package io.jenkins.plugins.preemptible.engine.zdtm;
