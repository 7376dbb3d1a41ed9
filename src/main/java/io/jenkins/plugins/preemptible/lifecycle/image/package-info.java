/**
 * Sealed images on the controller: brought from an agent that may send anything, kept among a build's artifacts, fetched again.
 *
 * <p>Used by the rooms that suspend, resume and end stages; {@code queue} asks {@code ArchiveRoom}. Knows {@code lifecycle.stage}
 * alone. Blocks on disks and connections: on threads of {@code StageThreads}, under no lock but a stage's own. Tests beside it;
 * {@code FullControllerTest} and {@code HostileAgentTest} in {@code acceptance}.
 */
package io.jenkins.plugins.preemptible.lifecycle.image;
