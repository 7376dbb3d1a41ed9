package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.function.BooleanSupplier;

/** What the programs that users run in these tests have in common: a line for each thing seen, and waiting. */
final class LifeSteps {

    private static final Duration LIMIT = Duration.ofSeconds(30);

    private LifeSteps() {}

    static void say(String what, Object value) {
        System.out.println(what + "=" + value);
    }

    /** What the kernel says of the rights of a stage's init, on one line. */
    static String rights(Engine engine, StageId id) throws IOException {
        long init = engine.status(id).initPid();
        StringBuilder all = new StringBuilder();
        for (String line : Files.readAllLines(Path.of("/proc", Long.toString(init), "status"))) {
            if (line.matches("(Uid|Gid|Groups|Cap(Inh|Prm|Eff|Bnd|Amb)|NoNewPrivs|Seccomp):.*")) {
                all.append(line.trim().replaceAll("\\s+", " ")).append('|');
            }
        }
        return all.toString();
    }

    /** Without what sudo says on hosts that cannot resolve their own name. */
    static String withoutHostName(String said) {
        return said.replaceAll("sudo: unable to resolve host .*\n", "");
    }

    /** How many lines a file has; none when it is not there. */
    static long lines(Path file) {
        return read(file).size();
    }

    static boolean says(Path file, String beginning) {
        return read(file).stream().anyMatch(l -> l.startsWith(beginning));
    }

    private static List<String> read(Path file) {
        try {
            return Files.readAllLines(file);
        } catch (IOException e) {
            return List.of();
        }
    }

    static void until(BooleanSupplier condition) throws InterruptedException {
        long end = System.nanoTime() + LIMIT.toNanos();
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() - end > 0) {
                throw new AssertionError("nothing came");
            }
            Thread.sleep(10);
        }
    }
}
