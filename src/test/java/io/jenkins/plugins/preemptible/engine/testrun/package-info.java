/**
 * Runs the tests for {@code ./preempt test}, {@code soak}, {@code fuzz}, {@code compat} and {@code bench}, and sums them up.
 *
 * <p>{@link io.jenkins.plugins.preemptible.engine.testrun.DeveloperCommands} reads the options. Each half of the project is one
 * call of Maven; what Surefire reports is read afterwards. Nothing outside of this package uses it. One thread, no locks. The
 * tests of this package start no Maven.
 */
package io.jenkins.plugins.preemptible.engine.testrun;
