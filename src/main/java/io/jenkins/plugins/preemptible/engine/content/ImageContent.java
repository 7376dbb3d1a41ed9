package io.jenkins.plugins.preemptible.engine.content;

import com.fasterxml.jackson.annotation.JsonInclude;
import java.util.List;
import java.util.Map;

/**
 * What a CRIU image holds: processes, memory, files, sockets, mounts and namespaces of the suspended tree.
 *
 * <ol>
 *   <li>{@link ContentReader} gathers it from the image's files, while an archive streams by or from a folder.
 *   <li>Ids of files tie the descriptors of processes to the one thing that they share.
 *   <li>All text in it was chosen by the stage: code that shows it must keep it from driving a terminal.
 * </ol>
 *
 * Immutable. Sizes are bytes. Source: CRIU 4.2.1, {@code images/*.proto}.
 *
 * @param processes parents before their children, as CRIU restores them
 * @param memory of all processes; shared memory counts once in what is stored
 * @param files what is open, mapped or a working folder, sockets apart
 * @param mounts of the stage's mount namespace; empty when it has none of its own
 * @param namespaces of the stage's init
 * @param deletedFiles that were still open and travel in the image
 * @param parts the image's own files with their sizes
 * @param dumpTimes what CRIU measured; null when the image does not tell
 */
public record ImageContent(
        List<ProcessContent> processes,
        Map<MemoryKind, MemoryContent> memory,
        List<FileContent> files,
        List<SocketContent> sockets,
        List<MountContent> mounts,
        List<NamespaceContent> namespaces,
        List<DeletedFile> deletedFiles,
        List<Part> parts,
        @JsonInclude(JsonInclude.Include.NON_NULL) DumpTimes dumpTimes) {

    public ImageContent {
        processes = List.copyOf(processes);
        memory = MemoryContent.inOrder(memory);
        files = List.copyOf(files);
        sockets = List.copyOf(sockets);
        mounts = List.copyOf(mounts);
        namespaces = List.copyOf(namespaces);
        deletedFiles = List.copyOf(deletedFiles);
        parts = List.copyOf(parts);
    }

    /**
     * One mount.
     *
     * @param type the file system's name
     * @param root the part of the file system that is mounted
     * @param external whether the image only refers to the host's mount; else its content may be in the image
     */
    public record MountContent(
            long id, long parentId, String mountPoint, String type, String source, String root, boolean external) {}

    /** One namespace of the init: its kind, such as {@code pid}, and whether it is the stage's own. */
    public record NamespaceContent(String kind, boolean own) {}

    /**
     * A file without a name.
     *
     * @param path that it had, as its opener knows it
     * @param bytes of its content; a sparse one is smaller in the image
     */
    public record DeletedFile(long fileId, String path, long bytes) {}

    /**
     * Times and counts of the dump as CRIU measured them, in microseconds and pages.
     *
     * @param freezing until every task was seized; the freezer had stopped them before
     * @param frozen the whole dump
     * @param memoryDump of that, until all pages were read
     * @param memoryWrite and until they were written
     */
    public record DumpTimes(
            long freezing, long frozen, long memoryDump, long memoryWrite, long pagesScanned, long pagesWritten) {}

    /** One file of the image. */
    public record Part(String name, long bytes) {}
}
