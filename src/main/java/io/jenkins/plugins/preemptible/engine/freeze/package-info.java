/**
 * Freezers: control groups, stop signals, or the privileged part of the host.
 *
 * <p>Used by the classes that stop, kill or list a stage's processes. {@code Freezer.location} stands in stage.json: it
 * must stay readable. Safe for any thread; two changes of one stage are kept apart by its lock. Tests: {@code
 * FreezerKindTest}; real freezes in the tests of the engine's own package.
 */
package io.jenkins.plugins.preemptible.engine.freeze;
