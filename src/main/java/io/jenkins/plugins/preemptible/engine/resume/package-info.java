/**
 * The steps of resuming: from the frozen tree, from CRIU's own files, or from an archive.
 *
 * <p>Only the facade uses it. {@code LocalResume} comes first, {@code ArchiveResume} where an archive is needed, {@code
 * Restore} restores processes from CRIU's files. The stage's lock is held during a restore. A failure leaves every
 * image and the record as they were. Tests with real CRIU in the engine's own package.
 */
package io.jenkins.plugins.preemptible.engine.resume;
