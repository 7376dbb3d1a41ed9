package io.jenkins.plugins.preemptible.engine.preflight;

import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A stage's tree and what it holds, read once.
 *
 * <ol>
 *   <li>{@link TreeReader} fills it from proc(5); tests construct it.
 *   <li>Some things are read only when others make them matter, such as who else holds a pipe.
 *   <li>Rules only read it and ask the host nothing more, so they are pure.
 * </ol>
 *
 * @param processes the init and all below it
 * @param strangers processes that are tied to the stage but not below its init
 * @param mounts the ids of all mounts that the tree's mount namespaces have
 * @param holders what processes outside hold of what the tree holds as well, by {@link OpenFile#identity}
 */
record TreeSnapshot(
        List<Member> processes,
        List<Stranger> strangers,
        Set<Integer> mounts,
        Sockets sockets,
        Map<String, List<Holder>> holders,
        Room room) {

    /** The namespaces that a dump depends on, by the names of {@code /proc/PID/ns}. */
    static final List<String> NAMESPACES =
            List.of("pid", "net", "user", "uts", "ipc", "cgroup", "time_for_children", "mnt");

    /**
     * One process below the init, or the init.
     *
     * @param tracer the process that traces any of its threads, 0 for none
     * @param inGroup whether it is in the stage's control group
     * @param deadLeader whether its first thread ended while others run
     * @param namespaces by name, such as {@code net}, the kernel's {@code net:[4026531840]}; empty for a zombie
     * @param anonymousBytes what of its own memory is not in any file, in memory or swapped out
     * @param traits what of it is neither open nor mapped
     */
    record Member(
            long pid,
            String command,
            long tracer,
            boolean inGroup,
            boolean deadLeader,
            Map<String, String> namespaces,
            List<OpenFile> files,
            List<Mapping> mappings,
            long anonymousBytes,
            Traits traits) {

        Member withFiles(List<OpenFile> next) {
            return new Member(
                    pid, command, tracer, inGroup, deadLeader, namespaces, next, mappings, anonymousBytes, traits);
        }
    }

    /**
     * What a process is, apart from what it holds.
     *
     * @param foreignIds its user and group ids when CRIU may not read its limits because of them; otherwise empty
     * @param personality as personality(2) has it
     * @param folderWith the process with which it shares its working folder and umask, 0 for none
     * @param pendingTrap whether a SIGTRAP waits that it has blocked
     */
    record Traits(String foreignIds, long personality, long folderWith, boolean pendingTrap) {
        static final Traits PLAIN = new Traits("", 0, 0, false);
    }

    /** What a descriptor refers to. */
    enum Kind {
        REGULAR,
        FOLDER,
        CHARACTER,
        BLOCK,
        FIFO,
        PIPE,
        SOCKET,
        ANONYMOUS,
        OTHER
    }

    /** How a descriptor may be used. */
    enum Mode {
        READ,
        WRITE,
        BOTH
    }

    /** What the detail of a pipe in packet mode says, pipe(2). */
    static final String PACKETS = "packets";

    /** What the detail of a UDP socket says that collects a datagram, udp(7). */
    static final String CORKED = "UDP_CORK";

    /** What the detail of an eventfd says that was made with EFD_SEMAPHORE, eventfd(2). */
    static final String SEMAPHORE = "semaphore";

    /** What the detail of an inotify descriptor begins with; the identities of what it watches follow, one a line. */
    static final String WATCHES = "watches\n";

    /** What the detail of an inotify descriptor begins with whose events were not all read; then as {@link #WATCHES}. */
    static final String EVENTS = "events, ";

    /** What the detail of a pseudo terminal begins with; its devpts instance and its number there follow. */
    static final String TERMINAL = "terminal ";

    /**
     * One descriptor.
     *
     * @param link as {@code /proc/PID/fd} shows it
     * @param mount the id of its mount, -1 when that was not told
     * @param identity what every descriptor of the same file, pipe or socket has in common
     * @param device major and minor number of a device file, {@code 10:232}; otherwise empty
     * @param links how many names a file has
     * @param bytes a file's blocks on disk or in memory
     * @param target the process of a pidfd or the index of a pseudo terminal's master; -1 when it is neither
     * @param detail a socket's protocol as the kernel names it, {@link #CORKED} of a UDP socket that collects a
     *     datagram, {@link #QUEUE} of a message queue, {@link #COVERED} of a file to which its path does not lead,
     *     {@link #PACKETS} of a pipe in packet mode, {@link #SEMAPHORE} of an eventfd, {@link #WATCHES} and more of
     *     an inotify descriptor, after {@link #EVENTS} where some are unread, {@link #TERMINAL} and more of both sides
     *     of a pseudo terminal; otherwise empty
     */
    record OpenFile(
            int number,
            String link,
            Kind kind,
            Mode mode,
            int mount,
            String identity,
            String device,
            long links,
            long bytes,
            long target,
            String detail) {

        static final String QUEUE = "mqueue";
        static final String COVERED = "covered";

        OpenFile as(String found) {
            return new OpenFile(number, link, kind, mode, mount, identity, device, links, bytes, target, found);
        }

        boolean deleted() {
            return link.endsWith(" (deleted)");
        }
    }

    /**
     * One mapping of a file that matters: a shared, a deleted or a device's one.
     *
     * @param identity as {@link OpenFile#identity}
     * @param links how many names a deleted file has left
     */
    record Mapping(String path, boolean shared, String identity, long bytes, long links) {

        Mapping(String path, boolean shared, String identity, long bytes) {
            this(path, shared, identity, bytes, 0);
        }

        boolean deleted() {
            return path.endsWith(" (deleted)");
        }
    }

    /** How a process outside of the tree is tied to the stage. */
    enum Tie {
        IN_GROUP,
        IN_NAMESPACE
    }

    /** A process that is tied to the stage but not below its init. */
    record Stranger(long pid, String command, Tie tie) {}

    /** A process outside that holds something. */
    record Holder(long pid, String command, Mode mode) {}

    /**
     * The sockets of the stage's network namespace, by inode.
     *
     * @param udpUnread bytes that UDP sockets have to be read, by inode; none where there are none
     * @param peersKnown whether the table of unix sockets has the peers
     */
    record Sockets(
            Map<Long, Inet> inet,
            Map<Long, Unix> unix,
            Map<Long, Long> netlinkUnread,
            Map<Long, Long> udpUnread,
            boolean peersKnown) {
        static final Sockets NONE = new Sockets(Map.of(), Map.of(), Map.of(), Map.of(), false);
    }

    /**
     * A TCP socket.
     *
     * @param state as the kernel numbers them, see {@link #LISTEN}
     * @param local address and port in the kernel's hexadecimal form; an IPv4 address in IPv6 is given as IPv4
     * @param unread bytes to be read, or of a listening socket connections to be accepted
     */
    record Inet(long inode, int state, String local, String remote, long unread) {
        static final int SYN_SENT = 2;
        static final int CLOSE = 7;
        static final int CLOSE_WAIT = 8;
        static final int LISTEN = 10;

        boolean connected() {
            return state != LISTEN && state != CLOSE;
        }
    }

    /**
     * A unix socket.
     *
     * @param type 1 stream, 2 datagram, 5 sequential packets
     * @param peer the inode of the other one, 0 for none
     * @param name its path, {@code @} before an abstract name, empty for none
     * @param waiting whether it waits to be accepted by its peer
     * @param unsent bytes that it sent and that were not read yet
     * @param givenUp whether a connection to it was closed before it accepted that
     */
    record Unix(long inode, int type, long peer, String name, boolean waiting, long unsent, boolean givenUp) {
        static final int DATAGRAM = 2;

        Unix(long inode, int type, long peer, String name) {
            this(inode, type, peer, name, false, 0, false);
        }

        /** Whether CRIU could not make the connection again: it cannot read what was sent on it. */
        boolean stuck() {
            return waiting && unsent > 0;
        }
    }

    /**
     * What the image needs and what there is.
     *
     * @param folder of the images, which is in the home folder
     * @param needed bytes of the memory images, estimated from above
     * @param free bytes that may be written to the image's folder
     * @param freeMemory bytes that the kernel could still give out; {@link Long#MAX_VALUE} where the folder is on a
     *     disk
     */
    record Room(String folder, long needed, long free, long freeMemory) {
        static final Room ENOUGH = new Room("", 0, Long.MAX_VALUE, Long.MAX_VALUE);
    }
}
