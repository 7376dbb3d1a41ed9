package io.jenkins.plugins.preemptible.engine.freeze;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;

/**
 * A freezer that is a control group of the stage's own, of version 2 or of version 1's freezer controller.
 *
 * <ol>
 *   <li>Version 2: 1 into {@code cgroup.freeze}, done when {@code cgroup.events} says {@code frozen 1}.
 *   <li>Version 1: FROZEN into {@code freezer.state}, done when it reads so; asked again meanwhile, as CRIU does.
 *   <li>Killing: {@code cgroup.kill} where the kernel has it, else one signal each, then a thaw to let it work.
 * </ol>
 */
public final class CgroupFreezer implements Freezer {

    private static final Duration REMOVAL = TimeLimits.of(Duration.ofSeconds(10));

    private final boolean unified;
    private final Path folder;

    CgroupFreezer(boolean unified, Path folder) {
        this.unified = unified;
        this.folder = folder;
    }

    @Override
    public void create() throws IOException {
        // Exclusively: a group that another process made could hold other processes, or be thawed by them.
        Files.createDirectory(folder);
        if (!Files.isWritable(folder.resolve(unified ? "cgroup.freeze" : "freezer.state"))) {
            Files.deleteIfExists(folder);
            throw new IOException(folder + " has no freezer");
        }
    }

    @Override
    public Optional<Path> cgroup() {
        return Optional.of(folder);
    }

    @Override
    public Optional<Path> joinFile() {
        return Optional.of(folder.resolve("cgroup.procs"));
    }

    @Override
    public List<Long> pids(HostProcess init) throws IOException {
        try {
            return Files.readAllLines(folder.resolve("cgroup.procs")).stream()
                    .map(String::trim)
                    .filter(l -> !l.isEmpty())
                    .map(Long::valueOf)
                    .toList();
        } catch (NoSuchFileException e) {
            return List.of();
        }
    }

    @Override
    public void freeze(HostProcess init, Duration limit) throws IOException {
        long end = System.nanoTime() + limit.toNanos();
        long again = 0;
        while (true) {
            long now = System.nanoTime();
            if (again == 0 || (!unified && now - again > 0)) {
                set(true);
                again = now + Duration.ofMillis(100).toNanos();
            }
            if (frozen()) {
                return;
            }
            if (now - end > 0) {
                thaw(init);
                throw new IOException("not frozen within " + limit.toMillis() + " ms");
            }
            pause(1, init);
        }
    }

    private void pause(long millis, HostProcess init) throws IOException {
        try {
            Thread.sleep(millis);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            thaw(init);
            throw new IOException("interrupted", e);
        }
    }

    private boolean frozen() throws IOException {
        if (unified) {
            return Files.readAllLines(folder.resolve("cgroup.events")).contains("frozen 1");
        }
        return Files.readString(folder.resolve("freezer.state")).trim().equals("FROZEN");
    }

    // The state that was asked for: a process that just entered makes the real state untrue for a moment.
    @Override
    public boolean holds(HostProcess init) throws IOException {
        try {
            String asked = unified ? "cgroup.freeze" : "freezer.self_freezing";
            return Files.readString(folder.resolve(asked)).trim().equals("1");
        } catch (NoSuchFileException e) {
            return false;
        }
    }

    private void set(boolean frozen) throws IOException {
        if (unified) {
            write("cgroup.freeze", frozen ? "1" : "0");
        } else {
            write("freezer.state", frozen ? "FROZEN" : "THAWED");
        }
    }

    private void write(String file, String text) throws IOException {
        // A channel fails on an interrupted thread, and such a thread has to thaw the stage all the same.
        boolean interrupted = Thread.interrupted();
        try {
            // No CREATE: a file that the kernel does not offer must not be asked for.
            Files.write(folder.resolve(file), text.getBytes(StandardCharsets.US_ASCII), StandardOpenOption.WRITE);
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }

    @Override
    public void thaw(HostProcess init) throws IOException {
        try {
            set(false);
        } catch (NoSuchFileException e) {
            // The group is gone, so nothing can be frozen.
        }
    }

    @Override
    public void kill(HostProcess init) throws IOException {
        if (unified && Files.exists(folder.resolve("cgroup.kill"))) {
            try {
                write("cgroup.kill", "1");
            } catch (NoSuchFileException e) {
                return;
            }
        }
        if (init != null && init.alive()) {
            LibC.kill(init.pid(), LibC.SIGKILL);
        }
        for (long pid : pids(init)) {
            if (pid > 1) {
                LibC.kill(pid, LibC.SIGKILL);
            }
        }
        thaw(init);
    }

    @Override
    public void remove() throws IOException {
        long end = System.nanoTime() + REMOVAL.toNanos();
        while (true) {
            try {
                removeTree();
                return;
            } catch (IOException e) {
                if (System.nanoTime() - end > 0) {
                    throw new IOException(folder + " still holds processes", e);
                }
            }
            try {
                Thread.sleep(2);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
        }
    }

    // The stage may have made groups below its own; their files go with them.
    private void removeTree() throws IOException {
        if (!Files.exists(folder)) {
            return;
        }
        List<Path> groups;
        try (Stream<Path> all = Files.walk(folder)) {
            groups = all.filter(Files::isDirectory)
                    .sorted(Comparator.reverseOrder())
                    .toList();
        } catch (UncheckedIOException e) {
            throw e.getCause();
        }
        for (Path group : groups) {
            Files.deleteIfExists(group);
        }
    }

    @Override
    public FreezerKind kind() {
        return unified ? FreezerKind.CGROUP_V2 : FreezerKind.CGROUP_V1;
    }

    @Override
    public String location() {
        return (unified ? "v2:" : "v1:") + folder;
    }
}
