/**
 * The engine: suspends and resumes stages of this host with CRIU, and knows nothing of Jenkins.
 *
 * <p>The interface {@link io.jenkins.plugins.preemptible.engine.Engine} is the only way in, for the plugin's agents and
 * for the command line alike. {@code DirectEngine} and {@code SudoEngine} implement it and only hand on: the steps are
 * in {@code suspend}, {@code resume} and {@code home}. Values and failures that callers see are in {@code api}. Any
 * threads and processes may share a home folder: one step of a stage runs at a time. The tests of whole suspensions are
 * in this package of the tests; tests with the tag {@code host} need root and CRIU. {@code WallTest} keeps the packages
 * apart.
 */
package io.jenkins.plugins.preemptible.engine;
