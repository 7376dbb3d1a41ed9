package io.jenkins.plugins.preemptible.engine.preflight;

import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Holder;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Stranger;
import io.jenkins.plugins.preemptible.engine.preflight.TreeSnapshot.Tie;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * The processes that are tied to a stage but do not descend from its init.
 *
 * <p>A process that seems to be one is read again for a moment: it may be entering, or may have been born in the
 * stage since the tree was listed.
 */
final class Strangers {

    private static final Duration ENTRY_LIMIT = TimeLimits.of(Duration.ofMillis(200));
    private static final long PAUSE_MILLIS = 5;

    private final Preflight.Subject subject;
    private final ProcView proc;
    private final long init;

    Strangers(Preflight.Subject subject, ProcView proc) {
        this.subject = subject;
        this.proc = proc;
        this.init = subject.init().pid();
    }

    List<Stranger> of(Set<Long> inside, OutsideReader outside) {
        List<Stranger> strangers = new ArrayList<>();
        Set<Long> told = new HashSet<>();
        long end = System.nanoTime() + ENTRY_LIMIT.toNanos();
        for (long pid : subject.pids()) {
            if (!inside.contains(pid)) {
                stranger(pid, Tie.IN_GROUP, end).ifPresent(s -> {
                    strangers.add(s);
                    told.add(pid);
                });
            }
        }
        String namespace = proc.link(ProcFiles.of(init).resolve("ns/pid")).orElse("");
        boolean own = !proc.link(Path.of("/proc/self/ns/pid")).orElse(namespace).equals(namespace);
        if (own) {
            for (long pid : outside.pids()) {
                boolean same = proc.link(ProcFiles.of(pid).resolve("ns/pid"))
                        .orElse("")
                        .equals(namespace);
                // A process that is in the group as well is just entering.
                if (same && !told.contains(pid) && !inGroupNow(pid)) {
                    stranger(pid, Tie.IN_NAMESPACE, end).ifPresent(strangers::add);
                }
            }
        }
        return strangers;
    }

    // Processes born in the stage since the tree was listed are no strangers, and ended processes hold nothing.
    // The namespace tells where the parents cannot, since one of them ended meanwhile.
    Map<String, List<Holder>> still(Map<String, List<Holder>> holders) {
        Map<String, List<Holder>> still = new HashMap<>();
        String namespace = proc.link(ProcFiles.of(init).resolve("ns/pid")).orElse("");
        boolean own = !proc.link(Path.of("/proc/self/ns/pid")).orElse(namespace).equals(namespace);
        holders.forEach((what, all) -> {
            List<Holder> strangers = all.stream()
                    .filter(h -> Proc.stat(h.pid())
                            .map(s -> !s.zombie() && !below(s))
                            .orElse(false))
                    .filter(h -> !own
                            || !proc.link(ProcFiles.of(h.pid()).resolve("ns/pid"))
                                    .orElse("")
                                    .equals(namespace))
                    .toList();
            if (!strangers.isEmpty()) {
                still.put(what, strangers);
            }
        });
        return Map.copyOf(still);
    }

    // A process that enters is a stranger for some milliseconds in every case.
    private Optional<Stranger> stranger(long pid, Tie tie, long end) {
        Optional<Proc.Stat> stat = Proc.stat(pid);
        while (stat.isPresent()) {
            if (stat.get().zombie() || below(stat.get())) {
                return Optional.empty();
            }
            if (System.nanoTime() - end > 0) {
                break;
            }
            try {
                Thread.sleep(PAUSE_MILLIS);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                break;
            }
            stat = Proc.stat(pid);
        }
        return stat.map(s -> new Stranger(pid, s.comm(), tie));
    }

    private boolean below(Proc.Stat stat) {
        Optional<Proc.Stat> at = Optional.of(stat);
        while (at.isPresent() && at.get().pid() > 1) {
            if (at.get().pid() == init) {
                return true;
            }
            at = Proc.stat(at.get().ppid());
        }
        return false;
    }

    /** Whether a process is in the control groups of the init or in groups below them; true when it ends or is gone. */
    boolean inGroupNow(long pid) {
        Map<String, String> own = groups(init);
        Map<String, String> its = groups(pid);
        // Version 1 hierarchies show one that is ending in their root (proc_cgroup_show() of the kernel).
        return its.isEmpty()
                || Proc.exiting(pid)
                || own.entrySet().stream().allMatch(e -> {
                    String group = its.getOrDefault(e.getKey(), "");
                    return group.equals(e.getValue()) || (group + "/").startsWith(e.getValue() + "/");
                });
    }

    private Map<String, String> groups(long pid) {
        Map<String, String> groups = new HashMap<>();
        proc.lines(ProcFiles.of(pid).resolve("cgroup")).forEach(line -> {
            String[] parts = line.split(":", 3);
            if (parts.length == 3) {
                groups.put(parts[0] + ":" + parts[1], parts[2]);
            }
        });
        return groups;
    }
}
