package io.jenkins.plugins.preemptible.engine.content;

import io.jenkins.plugins.preemptible.engine.content.format.ContentException;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.EventFile;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.FileEntry;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Memfd;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.NotifyFile;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Pidfd;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Pipe;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.RegularFile;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Terminal;
import io.jenkins.plugins.preemptible.engine.content.format.ImageKind;
import io.jenkins.plugins.preemptible.engine.content.format.KeptFiles;
import io.jenkins.plugins.preemptible.engine.content.format.Message;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.StringJoiner;

/**
 * The open files of an image, by their ids, as {@code files.img} lists them.
 *
 * <ol>
 *   <li>Each entry has a type, an id, and the details of that type.
 *   <li>Ids of regular files also stand for what is mapped, executed, or a current folder.
 *   <li>Sockets are told apart by {@link SocketTable}.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code images/fdinfo.proto} and those that it imports.
 */
final class FileTable {

    // open(2) of the generic kernel headers; those that differ between architectures are left out.
    private static final int APPEND = 02000;
    private static final int NONBLOCK = 04000;
    private static final int PATH_ONLY = 010000000;

    private final Map<Long, FileContent> files = new HashMap<>();
    private final List<Message> sockets = new ArrayList<>();
    private final Map<Long, Message> memfds = new HashMap<>();

    static FileTable of(KeptFiles kept) throws ContentException {
        FileTable table = new FileTable();
        for (Message inode : kept.messages("memfd.img", ImageKind.MEMFD)) {
            table.memfds.put(inode.number(Memfd.INODE_KEY), inode);
        }
        List<Message> entries = kept.messages("files.img", ImageKind.FILES);
        // Paths first: terminals and FIFOs refer to them.
        for (Message entry : entries) {
            if (FileKind.of(entry.number(FileEntry.TYPE)) == FileKind.FILE) {
                table.add(entry);
            }
        }
        for (Message entry : entries) {
            FileKind kind = FileKind.of(entry.number(FileEntry.TYPE));
            switch (kind) {
                case FILE -> {}
                case INET_SOCKET, UNIX_SOCKET, NETLINK_SOCKET, PACKET_SOCKET -> table.sockets.add(entry);
                default -> table.add(entry);
            }
        }
        return table;
    }

    /** The entries of sockets, as they are. */
    List<Message> sockets() {
        return sockets;
    }

    List<FileContent> all() {
        return files.values().stream()
                .sorted(java.util.Comparator.comparingLong(FileContent::id))
                .toList();
    }

    /** The path or other name of a file; null when there is none of this id. */
    String name(long id) {
        FileContent file = files.get(id);
        return file == null ? null : file.name();
    }

    private void add(Message entry) throws ContentException {
        long id = entry.number(FileEntry.ID);
        FileKind kind = FileKind.of(entry.number(FileEntry.TYPE));
        Optional<Message> details = kind.details(entry);
        files.put(
                id,
                details.isPresent()
                        ? file(id, kind, details.get())
                        : new FileContent(id, kind, "file of type " + entry.number(FileEntry.TYPE), "", null, null));
    }

    private FileContent file(long id, FileKind kind, Message m) {
        return switch (kind) {
            case FILE ->
                new FileContent(
                        id,
                        kind,
                        m.text(RegularFile.NAME),
                        access(m.number(RegularFile.FLAGS)),
                        m.number(RegularFile.POSITION),
                        m.has(RegularFile.SIZE) ? m.number(RegularFile.SIZE) : null);
            case PIPE -> plain(id, kind, "pipe " + m.number(Pipe.PIPE_ID), m.number(Pipe.FLAGS));
            case FIFO -> new FileContent(id, kind, named(m, Pipe.FIFO_FILE_ID, "fifo"), "", null, null);
            case EVENTFD ->
                plain(
                        id,
                        kind,
                        "eventfd, counter " + Long.toUnsignedString(m.number(EventFile.COUNTER)),
                        m.number(EventFile.FLAGS));
            case EPOLL -> plain(id, kind, "epoll, watches " + count(m, EventFile.WATCHED), m.number(EventFile.FLAGS));
            case TIMERFD -> plain(id, kind, "timerfd, clock " + m.number(EventFile.CLOCK), m.number(EventFile.FLAGS));
            case SIGNALFD ->
                plain(
                        id,
                        kind,
                        "signalfd, mask 0x" + Long.toHexString(m.number(EventFile.SIGNALS)),
                        m.number(EventFile.FLAGS));
            case INOTIFY ->
                plain(id, kind, "inotify, watches " + count(m, NotifyFile.WATCHES), m.number(NotifyFile.FLAGS));
            case FANOTIFY ->
                plain(id, kind, "fanotify, marks " + count(m, NotifyFile.MARKS), m.number(NotifyFile.FLAGS));
            case TERMINAL ->
                plain(
                        id,
                        kind,
                        named(m, Terminal.FILE_ID, "terminal " + m.number(Terminal.INFO_ID)),
                        m.number(Terminal.FLAGS));
            case MEMFD -> memfd(id, m);
            case PIDFD -> plain(id, kind, "pidfd of process " + (int) m.number(Pidfd.PROCESS), 0);
            default -> new FileContent(id, kind, kind.name().toLowerCase(java.util.Locale.ROOT), "", null, null);
        };
    }

    private FileContent memfd(long id, Message m) {
        Message inode = memfds.get(m.number(Memfd.INODE_ID));
        return new FileContent(
                id,
                FileKind.MEMFD,
                "memfd:" + (inode == null ? "" : inode.text(Memfd.INODE_NAME)),
                access(m.number(Memfd.FLAGS)),
                m.number(Memfd.POSITION),
                inode == null ? null : inode.number(Memfd.INODE_SIZE));
    }

    private static FileContent plain(long id, FileKind kind, String name, long flags) {
        return new FileContent(id, kind, name, access(flags), null, null);
    }

    private String named(Message m, int field, String otherwise) {
        String path = m.has(field) ? name(m.number(field)) : null;
        return path == null ? otherwise : path;
    }

    private static int count(Message m, int field) {
        return m.fields().getField(field).getLengthDelimitedList().size();
    }

    private static String access(long flags) {
        StringJoiner words = new StringJoiner(", ");
        if ((flags & PATH_ONLY) != 0) {
            return "path only";
        }
        words.add(
                switch ((int) flags & 3) {
                    case 0 -> "read";
                    case 1 -> "write";
                    default -> "read and write";
                });
        if ((flags & APPEND) != 0) {
            words.add("append");
        }
        if ((flags & NONBLOCK) != 0) {
            words.add("nonblocking");
        }
        return words.toString();
    }
}
