/**
 * The files that CRIU writes, as bytes: kinds of files, entries, and the numbers of their fields.
 *
 * <p>Used by the packages that read or correct CRIU's files: {@code content}, {@code fixup}, {@code trial}. It gives no
 * meaning to what it reads. For one thread. Tests: {@code ImageFileTest}, with crafted files.
 */
package io.jenkins.plugins.preemptible.engine.content.format;
