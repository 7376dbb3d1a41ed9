/**
 * Preserved files: listed, opened and put back safely while other processes change their paths.
 *
 * <p>Used by the archive's writer, and by a resume to put them back. Folders are opened without following links, and
 * kept open. For one thread each; an opened channel may be read by several. Test: {@code PreservedFilesTest}.
 */
package io.jenkins.plugins.preemptible.engine.image.preserved;
