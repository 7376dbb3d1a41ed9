package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import java.util.TreeMap;

/**
 * All that can be seen of a tree that does not run: every mapping with its content, and every thread's registers.
 *
 * <ol>
 *   <li>Mappings come from {@code /proc/PID/maps}, each page of them from {@code /proc/PID/mem}.
 *   <li>Registers, signal masks and pending signals come from ptrace(2), by the small program {@code registers.c}.
 *   <li>Everything is keyed by ids of the tree's own namespace, which are the same after a restore.
 * </ol>
 *
 * @param mappings of each process, one a line; neighbours that only the kernel tells apart are one
 * @param pages the content of each page, by process and address
 * @param threads what ptrace tells, by thread and name, and the lines of {@code status} that do not depend on the host
 * @param rseq where the restartable sequences' areas are, by process: words of the kernel's own
 */
record TreeState(
        Map<Integer, List<String>> mappings,
        Map<Integer, SortedMap<Long, byte[]>> pages,
        SortedMap<String, byte[]> threads,
        Map<Integer, List<Long>> rseq) {

    static final int PAGE = 4096;

    /** @param registers the compiled {@code registers.c} */
    static TreeState of(long init, Path registers) throws IOException {
        TreeState state = new TreeState(new TreeMap<>(), new TreeMap<>(), new TreeMap<>(), new TreeMap<>());
        for (Proc.Stat process : Proc.tree(init)) {
            state.addProcess(process.pid(), registers);
        }
        return state;
    }

    private void addProcess(long hostPid, Path registers) throws IOException {
        int pid = Proc.innerPid(hostPid);
        Path folder = Path.of("/proc", Long.toString(hostPid));
        List<String> lines = Files.readAllLines(folder.resolve("maps"));
        mappings.put(pid, merged(lines));
        pages.put(pid, new TreeMap<>());
        rseq.put(pid, new ArrayList<>());
        try (RandomAccessFile mem = new RandomAccessFile(folder.resolve("mem").toFile(), "r")) {
            for (String line : lines) {
                // The kernel's clock data, and a page above the address space: neither is the process's.
                if (!line.contains("[vvar") && !line.contains("[vsyscall")) {
                    readPages(mem, Mapping.of(line), pages.get(pid));
                }
            }
        }
        List<String> command = new ArrayList<>(List.of(registers.toString()));
        Map<String, Integer> inner = new TreeMap<>();
        try (var tasks = Files.list(folder.resolve("task"))) {
            for (Path task : tasks.sorted().toList()) {
                String tid = task.getFileName().toString();
                command.add(tid);
                inner.put(tid, Proc.innerPid(Long.parseLong(tid)));
                threads.put(inner.get(tid) + " status", status(task).getBytes());
            }
        }
        HostTool.Answer answer = HostTool.run(60, command);
        if (!answer.ok()) {
            throw new IOException(answer.text());
        }
        for (String line : answer.text().lines().toList()) {
            String[] words = line.split(" ", 3);
            if (words[1].equals("rseq")) {
                rseq.get(pid).add(Long.parseUnsignedLong(words[2], 16));
            } else {
                threads.put(inner.get(words[0]) + " " + words[1], HexFormat.of().parseHex(words[2]));
            }
        }
    }

    private static String status(Path task) throws IOException {
        return String.join(
                "\n",
                Files.readAllLines(task.resolve("status")).stream()
                        .filter(l ->
                                l.matches("(Name|Umask|Uid|Gid|Groups|Threads|SigBlk|SigIgn|SigCgt|Cap...|NoNewPrivs"
                                        + "|Seccomp|VmLck|VmPin|THP_enabled):.*"))
                        .toList());
    }

    private static void readPages(RandomAccessFile mem, Mapping mapping, Map<Long, byte[]> pages) throws IOException {
        for (long address = mapping.start(); address < mapping.end(); address += PAGE) {
            byte[] page = new byte[PAGE];
            mem.seek(address);
            try {
                mem.readFully(page);
            } catch (IOException e) {
                // Behind the end of a mapped file nothing can be read, before or after.
                page = new byte[0];
            }
            pages.put(address, page);
        }
    }

    private record Mapping(long start, long end, String rights, long offset, String file) {
        static Mapping of(String line) {
            String[] words = line.split(" +", 6);
            String[] ends = words[0].split("-");
            String name = words.length > 5 ? words[5] : "";
            // Anonymous shared memory: CRIU makes it anew by memfd_create(2), so its inode is another one.
            boolean shared = name.matches("/(memfd:/)?dev/zero \\(deleted\\)");
            return new Mapping(
                    Long.parseUnsignedLong(ends[0], 16),
                    Long.parseUnsignedLong(ends[1], 16),
                    words[1],
                    Long.parseLong(words[2], 16),
                    shared ? "shared" : words[3] + " " + words[4] + " " + name);
        }

        // The kernel may keep two alike neighbours apart, because they differed once: that is lost, and means nothing.
        boolean continues(Mapping other) {
            boolean anonymous = file.startsWith("00:00 0");
            return other.end == start
                    && other.rights.equals(rights)
                    && other.file.equals(file)
                    && (anonymous || other.offset + other.end - other.start == offset);
        }

        @Override
        public String toString() {
            return Long.toHexString(start) + "-" + Long.toHexString(end) + " " + rights + " " + Long.toHexString(offset)
                    + " " + file;
        }
    }

    private static List<String> merged(List<String> lines) {
        List<Mapping> merged = new ArrayList<>();
        for (String line : lines) {
            Mapping next = Mapping.of(line);
            Mapping last = merged.isEmpty() ? null : merged.get(merged.size() - 1);
            if (last != null && next.continues(last)) {
                merged.set(merged.size() - 1, new Mapping(last.start, next.end, last.rights, last.offset, last.file));
            } else {
                merged.add(next);
            }
        }
        return merged.stream().map(Mapping::toString).toList();
    }

    int pageCount() {
        return pages.values().stream().mapToInt(Map::size).sum();
    }
}
