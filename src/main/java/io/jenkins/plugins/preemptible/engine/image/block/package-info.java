/**
 * Blocks of 4096 bytes: their digests, runs of equal ones, and the index that makes a difference small.
 *
 * <p>Used by the archive's writer and readers, and for preserved files. It opens no archive. For one thread each.
 * Tested by {@code DifferenceImageTest} of {@code image.archive}.
 */
package io.jenkins.plugins.preemptible.engine.image.block;
