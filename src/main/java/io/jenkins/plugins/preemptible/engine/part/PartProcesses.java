package io.jenkins.plugins.preemptible.engine.part;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;

/** What runs in the sandboxes of a home folder, in that of a stage or in that of its part in a container. */
public record PartProcesses(Path home) {

    /** What the init of a sandbox waits for, as its command line shows. */
    private static final String IDLES = "sleep 2147483647";

    private static final int MOST_NAMES = 3;

    /** The record of a stage or of its part, as it is on disk. */
    public Optional<StageJson> record(StageId id) {
        return new StageFolder(home.resolve("stages").resolve(id.value())).read();
    }

    /**
     * Names of the programs that run in a sandbox, beside what it idles with itself; at most three, each once.
     *
     * @return empty when nothing of its own runs in it, or it has ended
     */
    public List<String> running(StageId id) {
        Optional<StageJson> record = record(id).filter(r -> r.init() != null && r.freezer() != null);
        if (record.isEmpty() || !record.get().init().alive()) {
            return List.of();
        }
        HostProcess init = record.get().init();
        try {
            List<Proc.Stat> others = new ArrayList<>();
            for (long pid :
                    Set.copyOf(Stages.freezer(record.get()).orElseThrow().pids(init))) {
                Proc.stat(pid)
                        .filter(process -> process.pid() != init.pid() && !process.zombie())
                        .ifPresent(others::add);
            }
            others.removeAll(idle(init.pid(), others));
            return others.stream()
                    .map(Proc.Stat::comm)
                    .distinct()
                    .limit(MOST_NAMES)
                    .toList();
        } catch (IOException e) {
            throw new UncheckedIOException("the processes of " + id + " cannot be listed", e);
        }
    }

    /**
     * What an init idles with: a sleep, below a subshell of its own or not. One such pair at most: another one was made by the
     * stage to look like it.
     */
    private static List<Proc.Stat> idle(long init, List<Proc.Stat> others) {
        for (Proc.Stat sleep : others) {
            if (Proc.commandLine(sleep.pid()).equals(IDLES)) {
                List<Proc.Stat> above = others.stream()
                        .filter(process -> process.pid() == sleep.ppid()
                                && process.ppid() == init
                                && Proc.commandLine(process.pid()).equals(Proc.commandLine(init)))
                        .toList();
                if (sleep.ppid() == init || !above.isEmpty()) {
                    List<Proc.Stat> idle = new ArrayList<>(above);
                    idle.add(sleep);
                    return idle;
                }
            }
        }
        return List.of();
    }
}
