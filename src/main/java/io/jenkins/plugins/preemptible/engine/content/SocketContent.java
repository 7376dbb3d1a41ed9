package io.jenkins.plugins.preemptible.engine.content;

/**
 * A socket.
 *
 * @param id ties descriptors to it
 * @param inode ties the two ends of a pair together
 * @param family such as {@code inet6} or {@code unix}
 * @param type such as {@code stream}
 * @param state such as {@code ESTABLISHED}; empty where there is none
 * @param local address and port, or path; an abstract name begins with {@code @}; empty when it has none
 * @param peer likewise, or {@code socket} and the peer's inode
 */
public record SocketContent(
        long id, FileKind kind, long inode, String family, String type, String state, String local, String peer) {}
