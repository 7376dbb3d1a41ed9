/**
 * The program CRIU: finds it, runs it with a time limit, and turns its log into reasons.
 *
 * <p>Used by the steps of suspending and resuming, and by the trial. Also what CRIU does not keep itself: traits of
 * tasks, closed connections. Calls block until criu ended; the caller holds the stage's lock. Tests: {@code
 * CriuLogTest}, {@code CriuRunTest} and others beside it without rights; dumps and restores in the tests of the
 * engine's own package.
 */
package io.jenkins.plugins.preemptible.engine.criu;
