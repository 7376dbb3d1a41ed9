/**
 * Corrections of CRIU's files after a dump, each for one known fault of CRIU.
 *
 * <p>Only the dump calls it, through {@code ImageFixups}; each class says which fault, and in which versions. It
 * changes files that no other process has open. For one thread, which holds the stage's lock. Tests beside it, with
 * crafted files.
 */
package io.jenkins.plugins.preemptible.engine.fixup;
