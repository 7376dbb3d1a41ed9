/**
 * What is inside of an image, in words: processes, memory, files and sockets, and how two images differ.
 *
 * <p>Used by {@code inspect} and {@code diff} of the command line, and by the trial, which compares what others
 * changed. It reads CRIU's files in {@code content.format} and writes nothing. Readers are for one thread; what they
 * answer with is immutable. Tests: {@code ImageContentTest} with real images.
 */
package io.jenkins.plugins.preemptible.engine.content;
