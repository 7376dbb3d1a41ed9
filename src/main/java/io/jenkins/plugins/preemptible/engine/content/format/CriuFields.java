package io.jenkins.plugins.preemptible.engine.content.format;

/**
 * The numbers of the fields of CRIU's image entries that are read here.
 *
 * <ol>
 *   <li>One class per message, named after it.
 *   <li>Numbers of protobuf fields never change their meaning, so newer images can be read as well.
 *   <li>Fields that are not here are left alone.
 * </ol>
 *
 * One table, longer than other files: it is compared with the .proto files side by side. Source: CRIU 4.2.1,
 * {@code images/*.proto}.
 */
public final class CriuFields {

    private CriuFields() {}

    /** {@code pstree_entry}. */
    public static final class Pstree {
        public static final int PID = 1;
        public static final int PPID = 2;
        public static final int PGID = 3;
        public static final int SID = 4;
        public static final int THREADS = 5;

        private Pstree() {}
    }

    /** {@code core_entry}. */
    public static final class Core {
        public static final int TASK = 3;
        public static final int IDS = 4;
        public static final int THREAD = 5;

        private Core() {}
    }

    /** {@code task_core_entry}. */
    public static final class TaskCore {
        public static final int STATE = 1;
        public static final int COMM = 6;
        public static final int LIMITS = 8;

        private TaskCore() {}
    }

    /** {@code task_rlimits_entry} and its {@code rlimit_entry}. */
    public static final class Limits {
        public static final int LIMITS = 1;
        public static final int CURRENT = 1;
        public static final int MAXIMUM = 2;

        private Limits() {}
    }

    /** {@code thread_core_entry}. */
    public static final class ThreadCore {
        public static final int CREDENTIALS = 10;
        public static final int COMM = 13;

        private ThreadCore() {}
    }

    /** {@code creds_entry}. */
    public static final class Credentials {
        public static final int UID = 1;
        public static final int GID = 2;
        public static final int EUID = 3;
        public static final int EGID = 4;

        private Credentials() {}
    }

    /** {@code task_kobj_ids_entry}. */
    public static final class Ids {
        public static final int FILES = 2;
        public static final int PID_NAMESPACE = 5;
        public static final int NET_NAMESPACE = 6;
        public static final int IPC_NAMESPACE = 7;
        public static final int UTS_NAMESPACE = 8;
        public static final int MOUNT_NAMESPACE = 9;
        public static final int USER_NAMESPACE = 10;
        public static final int CGROUP_NAMESPACE = 11;
        public static final int TIME_NAMESPACE = 12;

        private Ids() {}
    }

    /** {@code inventory_entry}. */
    public static final class Inventory {
        public static final int ROOT_IDS = 3;

        private Inventory() {}
    }

    /** {@code fs_entry}. */
    public static final class Fs {
        public static final int CWD_ID = 1;
        public static final int ROOT_ID = 2;

        private Fs() {}
    }

    /** {@code mm_entry}. */
    public static final class Mm {
        public static final int STACK_START = 5;
        public static final int ARG_START = 8;
        public static final int ARG_END = 9;
        public static final int ENV_START = 10;
        public static final int ENV_END = 11;
        public static final int EXE_FILE_ID = 12;
        public static final int VMAS = 14;

        private Mm() {}
    }

    /** {@code vma_entry}. */
    public static final class Vma {
        public static final int START = 1;
        public static final int END = 2;
        public static final int SHARED_ID = 4;
        public static final int PROTECTION = 5;
        public static final int STATUS = 7;

        private Vma() {}
    }

    /** {@code pagemap_head}, the first entry of a pagemap. */
    public static final class PagemapHead {
        public static final int PAGES_ID = 1;

        private PagemapHead() {}
    }

    /** {@code pagemap_entry}, its other entries. */
    public static final class Pagemap {
        public static final int ADDRESS = 1;
        public static final int PAGES_32 = 2;
        public static final int IN_PARENT = 3;
        public static final int FLAGS = 4;
        public static final int PAGES = 5;

        /** Of {@link #FLAGS}: a restore may leave the pages out and ask for them later. */
        public static final int LAZY = 1 << 1;

        /** Of {@link #FLAGS}: the pages lie in the image's pages file. */
        public static final int PRESENT = 1 << 2;

        private Pagemap() {}
    }

    /** {@code fdinfo_entry}. */
    public static final class Fdinfo {
        public static final int FILE_ID = 1;
        public static final int FLAGS = 2;
        public static final int TYPE = 3;
        public static final int FD = 4;

        private Fdinfo() {}
    }

    /** {@code file_entry}. */
    public static final class FileEntry {
        public static final int TYPE = 1;
        public static final int ID = 2;
        public static final int REGULAR_FILE = 3;
        public static final int INET_SOCKET = 4;

        private FileEntry() {}
    }

    /** {@code reg_file_entry}. */
    public static final class RegularFile {
        public static final int FLAGS = 2;
        public static final int POSITION = 3;
        public static final int NAME = 6;
        public static final int SIZE = 8;
        public static final int MODE = 10;
        public static final int BUILD_ID = 12;

        private RegularFile() {}
    }

    /** {@code pipe_entry} and {@code fifo_entry}. */
    public static final class Pipe {
        public static final int PIPE_ID = 2;
        public static final int FLAGS = 3;
        public static final int FIFO_FILE_ID = 3;

        private Pipe() {}
    }

    /** {@code inet_sk_entry}. */
    public static final class InetSocket {
        public static final int INODE = 2;
        public static final int FAMILY = 3;
        public static final int TYPE = 4;
        public static final int PROTOCOL = 5;
        public static final int STATE = 6;
        public static final int SOURCE_PORT = 7;
        public static final int PEER_PORT = 8;
        public static final int SOURCE_ADDRESS = 11;
        public static final int PEER_ADDRESS = 12;
        public static final int OPTIONS = 14;
        public static final int INTERFACE = 17;

        /** Of {@link #OPTIONS}, {@code sk_opts_entry}: the interface of SO_BINDTODEVICE. */
        public static final int BOUND_DEVICE = 15;

        private InetSocket() {}
    }

    /** {@code unix_sk_entry}. */
    public static final class UnixSocket {
        public static final int INODE = 2;
        public static final int TYPE = 3;
        public static final int STATE = 4;
        public static final int PEER_INODE = 8;
        public static final int NAME = 11;

        private UnixSocket() {}
    }

    /** {@code netlink_sk_entry} and {@code packet_sock_entry}. */
    public static final class OtherSocket {
        public static final int NETLINK_INODE = 2;
        public static final int NETLINK_PROTOCOL = 3;
        public static final int PACKET_TYPE = 2;
        public static final int PACKET_PROTOCOL = 3;

        private OtherSocket() {}
    }

    /** {@code eventfd_file_entry}, {@code eventpoll_file_entry}, {@code timerfd_entry}, {@code signalfd_entry}. */
    public static final class EventFile {
        public static final int FLAGS = 2;
        public static final int COUNTER = 4;
        public static final int WATCHED = 4;
        public static final int CLOCK = 4;
        public static final int SIGNALS = 4;

        private EventFile() {}
    }

    /** {@code inotify_file_entry} and {@code fanotify_file_entry}. */
    public static final class NotifyFile {
        public static final int FLAGS = 2;
        public static final int WATCHES = 5;
        public static final int MARKS = 6;

        private NotifyFile() {}
    }

    /** {@code tty_file_entry} and the {@code tty_info_entry} of it. */
    public static final class Terminal {
        public static final int INFO_ID = 2;
        public static final int FLAGS = 3;
        public static final int FILE_ID = 6;

        private Terminal() {}
    }

    /** {@code memfd_file_entry}, and the {@code memfd_inode_entry} of {@code memfd.img}. */
    public static final class Memfd {
        public static final int FLAGS = 2;
        public static final int POSITION = 3;
        public static final int INODE_ID = 5;
        public static final int INODE_NAME = 1;
        public static final int INODE_SIZE = 4;
        public static final int SHARED_ID = 5;
        public static final int INODE_KEY = 7;

        private Memfd() {}
    }

    /** {@code pidfd_entry}. */
    public static final class Pidfd {
        public static final int PROCESS = 4;

        private Pidfd() {}
    }

    /** {@code mnt_entry}. */
    public static final class Mount {
        public static final int TYPE = 1;
        public static final int ID = 2;
        public static final int PARENT_ID = 4;
        public static final int ROOT = 6;
        public static final int MOUNT_POINT = 7;
        public static final int SOURCE = 8;
        public static final int EXTERNAL = 13;
        public static final int TYPE_NAME = 14;
        public static final int EXTERNAL_KEY = 18;

        private Mount() {}
    }

    /** {@code ghost_file_entry}. */
    public static final class Ghost {
        public static final int MODE = 3;
        public static final int CHUNKS = 9;
        public static final int SIZE = 10;

        private Ghost() {}
    }

    /** {@code tcp_stream_entry}. */
    public static final class TcpStream {
        public static final int UNREAD = 1;
        public static final int UNACKNOWLEDGED = 3;
        public static final int UNSENT = 12;

        private TcpStream() {}
    }

    /** {@code remap_file_path_entry}. */
    public static final class Remap {
        public static final int FILE_ID = 1;
        public static final int REMAP_ID = 2;
        public static final int TYPE = 3;

        /** Of {@link #TYPE}: the file's content is in the image. */
        public static final int GHOST = 1;

        private Remap() {}
    }

    /** {@code stats_entry}, and its {@code dump_stats_entry}: times are microseconds. */
    public static final class Stats {
        public static final int DUMP = 1;
        public static final int FREEZING = 1;
        public static final int FROZEN = 2;
        public static final int MEMORY_DUMP = 3;
        public static final int MEMORY_WRITE = 4;
        public static final int PAGES_SCANNED = 5;
        public static final int PAGES_WRITTEN = 7;

        private Stats() {}
    }
}
