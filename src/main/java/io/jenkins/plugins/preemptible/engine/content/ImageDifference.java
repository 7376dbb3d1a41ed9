package io.jenkins.plugins.preemptible.engine.content;

import com.fasterxml.jackson.annotation.JsonProperty;
import io.jenkins.plugins.preemptible.engine.content.format.ContentException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What changed between two images of one stage.
 *
 * <ol>
 *   <li>Processes are the same when they have the same id, descriptors when process, number and name are.
 *   <li>Pages are compared by content: a page counts as changed when the earlier image has none at that address, or
 *       another one.
 *   <li>Numbers that the kernel gives anew at every restore, such as a pipe's, are not compared.
 * </ol>
 *
 * @param came processes of the later image only
 * @param gone processes of the earlier image only
 * @param memory pages of every process of the later image, and of each shared memory
 * @param opened descriptors, sockets too, of processes that are in both images
 * @param closed likewise
 * @param mounted mount points of the later image only
 * @param unmounted mount points of the earlier image only
 */
public record ImageDifference(
        List<ProcessChange> came,
        List<ProcessChange> gone,
        List<PageChange> memory,
        List<DescriptorChange> opened,
        List<DescriptorChange> closed,
        List<String> mounted,
        List<String> unmounted) {

    /** A process that came or went. */
    public record ProcessChange(long pid, String comm, List<String> commandLine) {}

    /**
     * Pages of a process or a shared memory.
     *
     * @param owner a process id, or where shared memory is mapped first, or a memfd's name
     * @param comm the process's name; empty for shared memory
     * @param pages in the later image
     * @param changed how many of them differ, all of those of a new process
     */
    public record PageChange(String owner, String comm, long pages, long changed) {

        /** From 0 to 100. */
        @JsonProperty
        public double percent() {
            return pages == 0 ? 0 : 100.0 * changed / pages;
        }
    }

    /** A descriptor that was opened or closed. */
    public record DescriptorChange(long pid, long fd, FileKind kind, String name) {}

    /** An image's content and its page digests. */
    public record Side(ImageContent content, Map<String, PageDigests> pages) {

        /** @throws ContentException when the image is not as CRIU writes it */
        public static Side of(ContentReader reader) throws ContentException {
            return new Side(reader.content(), reader.pageDigests());
        }

        private Map<Long, ProcessContent> processes() {
            return content.processes().stream()
                    .collect(Collectors.toMap(ProcessContent::pid, p -> p, (a, b) -> a, TreeMap::new));
        }

        private Set<DescriptorChange> descriptors(Set<Long> pids) {
            Map<Long, String> names = new HashMap<>();
            content.files().forEach(f -> names.put(f.id(), f.name()));
            content.sockets().forEach(s -> names.put(s.id(), name(s)));
            Set<DescriptorChange> all = new LinkedHashSet<>();
            for (ProcessContent process : content.processes()) {
                for (ProcessContent.OpenFile file : process.openFiles()) {
                    if (pids.contains(process.pid())) {
                        all.add(new DescriptorChange(process.pid(), file.fd(), file.kind(), name(file, names)));
                    }
                }
            }
            return all;
        }

        private static String name(ProcessContent.OpenFile file, Map<Long, String> names) {
            return switch (file.kind()) {
                case FILE, FIFO, TERMINAL, MEMFD, INET_SOCKET, UNIX_SOCKET -> names.getOrDefault(file.fileId(), "");
                default -> "";
            };
        }

        private static String name(SocketContent socket) {
            boolean pair = socket.peer().startsWith("socket ");
            return String.join(
                            " ",
                            socket.family(),
                            socket.type(),
                            socket.state(),
                            socket.local(),
                            pair ? "to a socket without a name" : socket.peer().isEmpty() ? "" : "to " + socket.peer())
                    .replaceAll(" +", " ")
                    .strip();
        }

        private Set<String> mountPoints() {
            return content.mounts().stream()
                    .map(ImageContent.MountContent::mountPoint)
                    .collect(Collectors.toCollection(LinkedHashSet::new));
        }
    }

    /** Compares two images. */
    public static ImageDifference between(Side earlier, Side later) {
        Map<Long, ProcessContent> then = earlier.processes();
        Map<Long, ProcessContent> now = later.processes();
        Set<Long> stayed = new LinkedHashSet<>(now.keySet());
        stayed.retainAll(then.keySet());
        Set<DescriptorChange> openThen = earlier.descriptors(stayed);
        Set<DescriptorChange> openNow = later.descriptors(stayed);
        return new ImageDifference(
                changes(now, then.keySet()),
                changes(then, now.keySet()),
                pages(earlier, later, now),
                without(openNow, openThen),
                without(openThen, openNow),
                without(later.mountPoints(), earlier.mountPoints()),
                without(earlier.mountPoints(), later.mountPoints()));
    }

    private static List<ProcessChange> changes(Map<Long, ProcessContent> processes, Set<Long> others) {
        return processes.values().stream()
                .filter(p -> !others.contains(p.pid()))
                .map(p -> new ProcessChange(p.pid(), p.comm(), p.commandLine()))
                .toList();
    }

    private static List<PageChange> pages(Side earlier, Side later, Map<Long, ProcessContent> now) {
        List<PageChange> changes = new ArrayList<>();
        later.pages().forEach((owner, pages) -> {
            PageDigests before = earlier.pages().get(owner);
            ProcessContent process = owner.matches("\\d+") ? now.get(Long.valueOf(owner)) : null;
            changes.add(new PageChange(
                    owner,
                    process == null ? "" : process.comm(),
                    pages.pages(),
                    before == null ? pages.pages() : pages.changed(before)));
        });
        changes.sort(Comparator.comparing((PageChange c) -> !c.owner().matches("\\d+"))
                .thenComparing(c -> c.owner().length())
                .thenComparing(PageChange::owner));
        return changes;
    }

    private static <T> List<T> without(Set<T> all, Set<T> others) {
        return all.stream().filter(each -> !others.contains(each)).toList();
    }
}
