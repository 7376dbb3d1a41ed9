package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * A user whose processes race CRIU for its parasite, at each dump of a stage; some of the dumps are restored. The last line has
 * the figures.
 *
 * <p>Arguments: the stage's program, the attacker's, seconds.
 */
public final class LifeOfARace {

    private static final int RESTORE_EVERY = 10;

    private final Path home = Path.of(System.getenv("HOME"));
    private final PrivilegedPart part = PrivilegedPart.find().orElseThrow();
    private final StageId id = StageId.parse("raced");
    private final Path images = home.resolve("images");
    private final Path logs = home.resolve("logs");
    private final List<String> words = new ArrayList<>();
    private int dumps;
    private int failed;
    private int restored;
    private int refused;
    private int more;

    private LifeOfARace() {}

    public static void main(String[] args) throws Exception {
        new LifeOfARace().live(args[0], args[1], Long.parseLong(args[2]));
    }

    private void live(String program, String attacker, long seconds) throws Exception {
        Files.createDirectories(logs);
        Files.writeString(home.resolve("held"), "held");
        Files.writeString(home.resolve("targets"), "");
        PrivilegedPart.Seen now = start(program);
        String usual = rights(now.group());
        words.addAll(List.of(images.toString(), logs.toString(), "ghost-limit=1048576"));
        for (String mount : Mounts.ofHost(Files.readAllLines(Path.of("/proc/" + now.init() + "/mountinfo")))) {
            words.add("mount=" + mount);
        }
        System.out.println("control " + control(attacker));
        List<Process> attackers = new ArrayList<>();
        for (int each = 0; each < 2; each++) {
            attackers.add(new ProcessBuilder(
                            attacker,
                            home.resolve("targets").toString(),
                            home.resolve("result" + each).toString())
                    .start());
        }
        try {
            long end = System.nanoTime() + seconds * 1_000_000_000L;
            while (System.nanoTime() < end) {
                Files.writeString(
                        home.resolve("targets"),
                        String.join("\n", Files.readAllLines(Path.of(now.group(), "cgroup.procs"))));
                now = cycle(now, program, usual);
            }
        } finally {
            attackers.forEach(Process::destroyForcibly);
        }
        part.kill(id);
        part.forget(id);
        long[] sums = new long[3];
        for (int each = 0; each < 2; each++) {
            String[] numbers =
                    Files.readString(home.resolve("result" + each)).trim().split(" ");
            for (int which = 0; which < 3; which++) {
                sums[which] += Long.parseLong(numbers[which]);
            }
        }
        System.out.println("race dumps=" + dumps + " failed=" + failed + " restored=" + restored + " refused=" + refused
                + " more=" + more + " noted=" + Files.size(home.resolve("noted")) + " tries=" + sums[0] + " opened="
                + sums[1] + " wins=" + sums[2]);
    }

    /** What the attacker gets of a process that is no stage's. */
    private String control(String attacker) throws Exception {
        Path own = Files.writeString(
                home.resolve("own"), Long.toString(ProcessHandle.current().pid()));
        Path result = home.resolve("control");
        Process process = new ProcessBuilder(attacker, own.toString(), result.toString()).start();
        for (int tries = 0; tries < 500 && (!Files.exists(result) || Files.size(result) == 0); tries++) {
            Thread.sleep(10);
        }
        process.destroyForcibly();
        return "opened=" + Files.readString(result).trim().split(" ")[1];
    }

    private PrivilegedPart.Seen start(String program) throws Exception {
        PrivilegedPart.Seen started = part.start(
                id,
                List.of("/bin/sh", "-c", "cd '" + home + "' && exec '" + program + "' counter noted held"),
                Map.of("PATH", "/usr/bin:/bin"),
                home.resolve("errors"),
                false);
        Thread.sleep(300);
        return started;
    }

    private PrivilegedPart.Seen cycle(PrivilegedPart.Seen now, String program, String usual) throws Exception {
        StageFolder.delete(images);
        Files.createDirectories(images);
        part.freeze(id);
        int code = part.dump(id, words, () -> false);
        dumps++;
        if (code != 0) {
            failed++;
        }
        if (code != 0 || dumps % RESTORE_EVERY != 0) {
            part.thaw(id);
            return now;
        }
        part.kill(id);
        part.forget(id);
        try {
            PrivilegedPart.Seen back = part.restore(id, words, () -> false);
            restored++;
            more += rights(back.group()).equals(usual) ? 0 : 1;
            return back;
        } catch (EngineException e) {
            refused++;
            System.out.println(e.getMessage());
            return start(program);
        }
    }

    private static String rights(String group) throws IOException {
        TreeSet<String> all = new TreeSet<>();
        for (String thread : Files.readAllLines(Path.of(group, "cgroup.threads"))) {
            all.add(Files.readAllLines(Path.of("/proc", thread, "status")).stream()
                    .filter(l -> l.matches("(Uid|Gid|Groups|Cap(Inh|Prm|Eff|Amb)|NoNewPrivs):.*"))
                    .collect(Collectors.joining("|")));
        }
        return all.toString();
    }
}
