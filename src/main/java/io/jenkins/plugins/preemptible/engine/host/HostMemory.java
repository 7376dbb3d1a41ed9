package io.jenkins.plugins.preemptible.engine.host;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * How much memory this host has for something new.
 *
 * <ol>
 *   <li>{@code availableBytes}: MemAvailable, or what is left below the limit of a control group that this JVM is in,
 *       the lesser of the two.
 *   <li>{@code pressurePercent}: how long some process waited for memory during the last ten seconds; of this JVM's
 *       group where the kernel tells it, else of the host; 0 where it tells neither.
 *   <li>A snapshot: the next one may differ.
 * </ol>
 *
 * Sources: proc(5), {@code meminfo}; the kernel's accounting/psi; admin-guide/cgroup-v2, {@code memory.max}.
 */
public record HostMemory(long availableBytes, double pressurePercent) {

    /** The memory now. A host that does not tell counts as having enough. */
    public static HostMemory now() {
        Path group = ownGroup();
        long available = available(lines(Path.of("/proc/meminfo")));
        for (Path g = group; g != null && Files.exists(g.resolve("memory.max")); g = g.getParent()) {
            available = Math.min(available, left(g));
        }
        List<String> pressure = group == null ? List.of() : lines(group.resolve("memory.pressure"));
        return new HostMemory(
                available, pressure(pressure.isEmpty() ? lines(Path.of("/proc/pressure/memory")) : pressure));
    }

    /** All of it: MemTotal, or the limit of a control group that this JVM is in, whichever is less; -1 = not told. */
    public static long totalBytes() {
        long total = bytes(lines(Path.of("/proc/meminfo")), "MemTotal:");
        for (Path g = ownGroup(); g != null && Files.exists(g.resolve("memory.max")); g = g.getParent()) {
            String most = String.join("", lines(g.resolve("memory.max"))).trim();
            total = most.matches("\\d{1,18}") ? Math.min(total, Long.parseLong(most)) : total;
        }
        return total == Long.MAX_VALUE ? -1 : total;
    }

    static long available(List<String> meminfo) {
        return bytes(meminfo, "MemAvailable:");
    }

    private static long bytes(List<String> meminfo, String what) {
        return meminfo.stream()
                .filter(l -> l.startsWith(what))
                .map(l -> l.replaceAll("\\D", ""))
                .filter(n -> !n.isEmpty())
                .mapToLong(n -> Long.parseLong(n) << 10)
                .findFirst()
                .orElse(Long.MAX_VALUE);
    }

    /** Of a line such as {@code some avg10=0.12 avg60=0.05 avg300=0.00 total=123}. */
    static double pressure(List<String> lines) {
        return lines.stream()
                .filter(l -> l.startsWith("some "))
                .map(l -> l.replaceFirst("^.*avg10=([0-9.]+).*$", "$1"))
                .filter(n -> n.matches("[0-9]+(\\.[0-9]+)?"))
                .mapToDouble(Double::parseDouble)
                .findFirst()
                .orElse(0);
    }

    /** @param stat the group's {@code memory.stat}: files that are not in use are given up first */
    static long left(String max, String current, List<String> stat) {
        if (!max.matches("\\d+") || !current.matches("\\d+")) {
            return Long.MAX_VALUE;
        }
        long cached = stat.stream()
                .filter(l -> l.startsWith("inactive_file "))
                .mapToLong(l ->
                        Long.parseLong(l.substring("inactive_file ".length()).trim()))
                .findFirst()
                .orElse(0);
        return Math.max(0, Long.parseLong(max) - Long.parseLong(current) + cached);
    }

    private static long left(Path group) {
        return left(
                String.join("", lines(group.resolve("memory.max"))).trim(),
                String.join("", lines(group.resolve("memory.current"))).trim(),
                lines(group.resolve("memory.stat")));
    }

    private static Path ownGroup() {
        String own = Proc.self("cgroup").stream()
                .filter(l -> l.startsWith("0::/"))
                .map(l -> l.substring(4))
                .findFirst()
                .orElse(null);
        if (own == null) {
            return null;
        }
        return Proc.self("mountinfo").stream()
                .filter(l -> l.contains(" - cgroup2 "))
                .map(l -> Path.of(l.split(" ")[4]).resolve(own))
                .filter(Files::isDirectory)
                .findFirst()
                .orElse(null);
    }

    private static List<String> lines(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            // Not told by this kernel, or only to others.
            return List.of();
        }
    }
}
