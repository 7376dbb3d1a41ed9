package io.jenkins.plugins.preemptible.engine.content;

/**
 * Something that processes hold open or mapped, sockets apart.
 *
 * @param id ties descriptors to it
 * @param name the path, or what there is in place of one, such as {@code pipe 17} or {@code eventfd, counter 3}
 * @param access how it was opened, such as {@code write, append}; empty where that is not told
 * @param position in bytes; null for what has none
 * @param size in bytes at the time of the dump; null where it is not told
 */
public record FileContent(long id, FileKind kind, String name, String access, Long position, Long size) {}
