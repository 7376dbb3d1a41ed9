package io.jenkins.plugins.preemptible.engine.content;

import io.jenkins.plugins.preemptible.engine.content.format.ContentException;
import io.jenkins.plugins.preemptible.engine.content.format.Message;
import java.util.Optional;

/**
 * What a descriptor refers to, in CRIU's terms.
 *
 * <ol>
 *   <li>The type is the number of {@code fd_types}.
 *   <li>The field is that of {@code file_entry} which then holds the details.
 *   <li>A folder is a regular file here, as in the image.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code images/fdinfo.proto}.
 */
public enum FileKind {
    FILE(1, 3),
    PIPE(2, 18),
    FIFO(3, 17),
    INET_SOCKET(4, 4),
    UNIX_SOCKET(5, 16),
    EVENTFD(6, 8),
    EPOLL(7, 9),
    INOTIFY(8, 13),
    SIGNALFD(9, 10),
    PACKET_SOCKET(10, 6),
    TERMINAL(11, 19),
    FANOTIFY(12, 14),
    NETLINK_SOCKET(13, 7),
    NAMESPACE(14, 5),
    TUN(15, 11),
    EXTERNAL(16, 15),
    TIMERFD(17, 12),
    MEMFD(18, 20),
    BPF_MAP(19, 21),
    PIDFD(20, 22),
    /** Of a newer CRIU than this code knows. */
    UNKNOWN(0, 0);

    private final int type;
    private final int field;

    FileKind(int type, int field) {
        this.type = type;
        this.field = field;
    }

    static FileKind of(long type) {
        for (FileKind kind : values()) {
            if (kind.type == type) {
                return kind;
            }
        }
        return UNKNOWN;
    }

    /** The details of a {@code file_entry} of this kind. */
    Optional<Message> details(Message file) throws ContentException {
        return this == UNKNOWN ? Optional.empty() : file.message(field);
    }
}
