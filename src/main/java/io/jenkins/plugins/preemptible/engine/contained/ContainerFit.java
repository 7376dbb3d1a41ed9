package io.jenkins.plugins.preemptible.engine.contained;

import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;

/**
 * Whether a stage can live in a container with neither more rights than its program gives there, nor a way from it to the host.
 *
 * <p>Each obstacle is a sentence for people without the final stop.
 */
final class ContainerFit {

    /** With these, a process of the container could reach into one of the agent's that is just entering it. */
    private static final Map<Integer, String> TOO_MUCH =
            Map.of(19, "SYS_PTRACE", 21, "SYS_ADMIN", 16, "SYS_MODULE", 17, "SYS_RAWIO");

    /** File systems that only the container's processes see. */
    private static final Set<String> OWN = Set.of("tmpfs", "proc", "sysfs", "cgroup", "cgroup2");

    private static final int TIMES = 5;
    private static final long PAUSE_MILLIS = 100;

    private ContainerFit() {}

    /** @param first its first process */
    static Optional<String> obstacle(long first) {
        try {
            if (!sameAsHere(first, "user")) {
                return Optional.of("it has a user namespace of its own (rootless, or userns-remap)");
            }
            for (String kind : List.of("pid", "mnt")) {
                if (sameAsHere(first, kind)) {
                    return Optional.of("it shares the host's " + kind + " namespace");
                }
            }
            Optional<String> nested = volumeInVolume(Proc.mountInfo(first));
            return nested.isPresent() ? nested : confinement(first);
        } catch (IOException e) {
            return Optional.of("its first process cannot be examined: " + e.getMessage());
        }
    }

    /**
     * Who can write to the folder in which something is mounted could put a link there. In the container itself nobody can while
     * CRIU restores the stage; in a folder of the host somebody may.
     */
    static Optional<String> volumeInVolume(List<String> mountInfo) {
        Map<String, String[]> byId = new HashMap<>();
        mountInfo.forEach(line -> byId.put(line.split(" ")[0], line.split(" ")));
        for (String[] mount : byId.values()) {
            String[] parent = byId.get(mount[1]);
            String type = parent == null ? "" : String.join(" ", parent).replaceFirst(".* - (\\S+) .*", "$1");
            if (parent != null && !parent[4].equals("/") && !OWN.contains(type)) {
                return Optional.of("its volume " + mount[4] + " is mounted in another one, " + parent[4]);
            }
        }
        return Optional.empty();
    }

    /** They would run beside the dump of a stage: see {@link Bystanders}. What the container's program just starts becomes its own. */
    static Optional<String> strangers(ContainerProcesses processes, long first) {
        try {
            Set<Long> stay = pids(processes.strangers(first));
            for (int time = 0; time < TIMES && !stay.isEmpty(); time++) {
                Thread.sleep(PAUSE_MILLIS);
                stay.retainAll(pids(processes.strangers(first)));
            }
            return stay.isEmpty()
                    ? Optional.empty()
                    : Optional.of("processes that are not its own share its process ids (--pid=container, or a pod): "
                            + stay.stream()
                                    .flatMap(pid -> Proc.stat(pid).stream())
                                    .map(Proc.Stat::comm)
                                    .distinct()
                                    .sorted()
                                    .collect(Collectors.joining(", ")));
        } catch (IOException e) {
            return Optional.of("its first process cannot be examined: " + e.getMessage());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Optional.of("its first process cannot be examined: interrupted");
        }
    }

    private static Set<Long> pids(List<Proc.Stat> processes) {
        return processes.stream().map(Proc.Stat::pid).collect(Collectors.toCollection(HashSet::new));
    }

    static Optional<String> obstacle(Rights rights) {
        return TOO_MUCH.entrySet().stream()
                .filter(each -> rights.mayHave(each.getKey()))
                .map(each -> "its processes may have the capability " + each.getValue()
                        + " (--cap-add, --privileged), with which they could reach the agent's")
                .sorted()
                .findFirst();
    }

    private static boolean sameAsHere(long first, String kind) throws IOException {
        return namespace(Long.toString(first), kind).equals(namespace("self", kind));
    }

    private static Path namespace(String process, String kind) throws IOException {
        return Files.readSymbolicLink(Path.of("/proc", process, "ns", kind));
    }

    // The label cannot be given to another process in a way that is the same for AppArmor and SELinux, old and new.
    private static Optional<String> confinement(long first) {
        String label;
        try {
            label = Files.readString(Path.of("/proc", Long.toString(first), "attr", "current"));
        } catch (IOException e) {
            // This kernel has no such module.
            return Optional.empty();
        }
        String plain = label.replace("\0", "").trim();
        return plain.isEmpty() || plain.equals("unconfined")
                ? Optional.empty()
                : Optional.of("AppArmor or SELinux confines it (" + plain + ")");
    }
}
