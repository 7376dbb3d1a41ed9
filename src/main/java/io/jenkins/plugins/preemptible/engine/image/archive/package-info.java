/**
 * Writes, authenticates and unpacks sealed archives.
 *
 * <p>Callers use {@code ImageArchive} alone. A few threads work ahead for each archive; two calls on the same file are
 * kept apart by the caller. What a reader finds is believed only when the whole was authenticated. Tests beside it,
 * without rights: round trips, refusals, crafted and fuzzed archives.
 */
package io.jenkins.plugins.preemptible.engine.image.archive;
