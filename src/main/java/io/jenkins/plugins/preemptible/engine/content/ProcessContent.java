package io.jenkins.plugins.preemptible.engine.content;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Map;

/**
 * One process of an image.
 *
 * @param pid in the stage's own namespace, as are all ids of processes here
 * @param ppid 0 for the init
 * @param comm the kernel's short name
 * @param commandLine its arguments; empty for a zombie, or where its memory does not hold them any more
 * @param environment {@code NAME=value}, as it was at its start; null unless asked for
 * @param threads all of them, the first one's id is the pid
 * @param uid -1 for a zombie, like the other ids of users
 * @param executable the path; null for a zombie
 * @param workFolder its current folder; null for a zombie
 * @param memory by kind; pages of shared memory are stored outside of any process and count as 0 here
 * @param openFiles by descriptor
 * @param limits in the kernel's order
 */
public record ProcessContent(
        long pid,
        long ppid,
        long pgid,
        long sid,
        String comm,
        List<String> commandLine,
        @JsonInclude(JsonInclude.Include.NON_NULL) List<String> environment,
        State state,
        List<ThreadContent> threads,
        long uid,
        long gid,
        long euid,
        long egid,
        String executable,
        String workFolder,
        Map<MemoryKind, MemoryContent> memory,
        List<OpenFile> openFiles,
        List<Limit> limits) {

    public ProcessContent {
        commandLine = List.copyOf(commandLine);
        environment = environment == null ? null : List.copyOf(environment);
        threads = List.copyOf(threads);
        memory = MemoryContent.inOrder(memory);
        openFiles = List.copyOf(openFiles);
        limits = List.copyOf(limits);
    }

    /** What a process was doing when it was frozen. */
    public enum State {
        ALIVE,
        /** Stopped by a signal. */
        STOPPED,
        /** It has ended and its parent did not take note yet. */
        ZOMBIE
    }

    /** One thread: its id, and the name that it gave itself. */
    public record ThreadContent(long tid, String comm) {}

    /**
     * A descriptor.
     *
     * @param fileId of a {@link FileContent} or a {@link SocketContent}
     */
    public record OpenFile(long fd, FileKind kind, long fileId, boolean closeOnExec) {}

    /**
     * A resource limit of setrlimit(2).
     *
     * @param soft null for none, like hard
     */
    public record Limit(String name, Long soft, Long hard) {}

    /** Bytes of its pages in the image, without shared memory. */
    public long storedBytes() {
        return memory.values().stream().mapToLong(MemoryContent::stored).sum();
    }
}
