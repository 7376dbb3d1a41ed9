/**
 * The privileged part of the host, as a user without root's rights calls it through sudo.
 *
 * <p>Used by freezers, by CRIU's calls and, in {@code home} and {@code suspend}, for {@code SudoEngine}. A call is one
 * process; it blocks, and an interrupt does not end it. Any number may run at a time. The program itself is C, in the
 * resources of {@code privileged.install}. Those tests beside it that are tagged {@code host} need root, and a user whom they make; those of attacks are
 * named {@code Ways…Test}.
 */
package io.jenkins.plugins.preemptible.engine.privileged;
