package io.jenkins.plugins.preemptible.engine.criu;

import com.fasterxml.jackson.core.type.TypeReference;
import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Carries over what CRIU forgets of a task: its CPU affinity, its I/O priority, its timer slack, and control groups in
 * which it is beside the stage's own.
 *
 * <ol>
 *   <li>CRIU gives a restored task what it has itself; nice value, policy and real-time priority it does carry over.
 *   <li>{@link #keep} reads the frozen tree, and writes into the image what differs from the stage's init, which has
 *       what it was started with.
 *   <li>{@link #giveBack} sets it again, thread by thread, when the tree runs. What this host does not allow stays as
 *       CRIU left it, such as a processor that it does not have.
 * </ol>
 *
 * Sources: sched_setaffinity(2), ioprio_set(2), proc_pid_timerslack_ns(5).
 */
public final class TaskTraits {

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Logger LOG = Logger.getLogger(TaskTraits.class.getName());
    private static final String FILE = "task-traits.json";

    private TaskTraits() {}

    /**
     * The traits of one task.
     *
     * @param processors the mask as {@code /proc/PID/status} has it, such as {@code 00000000,00000003}
     * @param ioPriority class and level as ioprio_get(2) has them, -1 when unknown
     * @param slackNanos the timer slack, -1 when unknown
     * @param groups as {@link TaskGroups#of} has them, of a kept task those in which the init is not
     */
    record Traits(String processors, long ioPriority, long slackNanos, Map<String, String> groups) {
        Traits {
            groups = groups == null ? Map.of() : Map.copyOf(groups);
        }

        Traits beside(Traits usual) {
            Map<String, String> others = new HashMap<>(groups);
            others.entrySet().removeAll(usual.groups().entrySet());
            return new Traits(processors, ioPriority, slackNanos, others);
        }
    }

    /**
     * Writes what a restore has to give back; no file when there is nothing.
     *
     * @param tree the frozen processes, the init first
     */
    public static void keep(Path imageFolder, List<Proc.Stat> tree) throws IOException {
        if (tree.isEmpty()) {
            return;
        }
        Optional<Traits> usual = read(tree.get(0).pid(), tree.get(0).pid());
        Map<Integer, Traits> others = new HashMap<>();
        for (Proc.Stat process : tree) {
            for (long task : tasks(process.pid())) {
                read(process.pid(), task)
                        .filter(t -> !t.equals(usual.orElse(t)))
                        .ifPresent(t -> others.put(Proc.innerPid(task), t.beside(usual.get())));
            }
        }
        if (!others.isEmpty()) {
            JSON.writeValue(imageFolder.resolve(FILE).toFile(), others);
        }
    }

    /**
     * Sets the kept traits again, on the tree below a restored init.
     *
     * @return what could not be given back and matters, sentences without a final stop
     */
    public static List<String> giveBack(Path folder, long init) throws IOException {
        Path file = folder.resolve(FILE);
        if (!Files.exists(file)) {
            return List.of();
        }
        TaskGroups groups = TaskGroups.seenBy(init);
        List<String> warnings = new ArrayList<>();
        Map<Integer, Traits> others = JSON.readValue(file.toFile(), new TypeReference<Map<Integer, Traits>>() {});
        for (Proc.Stat process : Proc.tree(init)) {
            for (long task : tasks(process.pid())) {
                Traits traits = others.get(Proc.innerPid(task));
                if (traits != null) {
                    set(task, traits);
                    for (String lost : groups.putBack(process.pid(), task, traits.groups())) {
                        warnings.add(
                                "Process " + process.comm() + " was in the control group " + lost
                                        + ", to which it cannot be moved: the limits of that group do not hold for it any more");
                    }
                }
            }
        }
        return warnings.stream().distinct().toList();
    }

    /** Keeps what a restore has to give back, for another process that may have to finish that restore. */
    public static void take(Path imageFolder, Path folder) throws IOException {
        Files.deleteIfExists(folder.resolve(FILE));
        if (Files.exists(imageFolder.resolve(FILE))) {
            Files.copy(imageFolder.resolve(FILE), folder.resolve(FILE));
        }
    }

    /** Sets what {@link #take} kept, as far as it can be read, and removes that. */
    public static void giveBackTaken(Path folder, long init) {
        try {
            giveBack(folder, init).forEach(LOG::warning);
            dropTaken(folder);
        } catch (IOException e) {
            LOG.log(Level.WARNING, e, () -> "the tasks below process " + init + " keep the traits that criu gave them");
        }
    }

    /** Removes what {@link #take} kept; without effect when it kept nothing. */
    public static void dropTaken(Path folder) {
        try {
            Files.deleteIfExists(folder.resolve(FILE));
        } catch (IOException e) {
            LOG.log(Level.FINE, e, () -> "left in " + folder + " until the next restore replaces it");
        }
    }

    private static Optional<Traits> read(long pid, long task) {
        return Proc.allowedProcessors(task)
                .map(mask -> new Traits(
                        mask, LibC.ioPriority(task), Proc.timerSlack(task).orElse(-1L), TaskGroups.of(pid, task)));
    }

    private static void set(long task, Traits traits) {
        LibC.setAffinity(task, maskBytes(traits.processors()));
        if (traits.ioPriority() > 0) {
            LibC.setIoPriority(task, traits.ioPriority());
        }
        if (traits.slackNanos() >= 0) {
            Proc.setTimerSlack(task, traits.slackNanos());
        }
    }

    /** The kernel's text has groups of 32 bits, the highest first; the system call wants the lowest byte first. */
    static byte[] maskBytes(String text) {
        String digits = text.replace(",", "");
        digits = "0".repeat((16 - digits.length() % 16) % 16) + digits;
        byte[] bytes = new byte[digits.length() / 2];
        for (int i = 0; i < bytes.length; i++) {
            int end = digits.length() - 2 * i;
            bytes[i] = (byte) Integer.parseInt(digits.substring(end - 2, end), 16);
        }
        return bytes;
    }

    private static List<Long> tasks(long pid) {
        List<Long> tasks = new ArrayList<>();
        try (DirectoryStream<Path> all = Files.newDirectoryStream(Path.of("/proc/" + pid + "/task"))) {
            all.forEach(t -> tasks.add(Long.parseLong(t.getFileName().toString())));
        } catch (IOException | DirectoryIteratorException e) {
            // The task has ended: nothing to keep or to give back.
        }
        return tasks;
    }
}
