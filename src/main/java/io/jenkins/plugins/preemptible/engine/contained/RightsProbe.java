package io.jenkins.plugins.preemptible.engine.contained;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.stage.ContainedProgram;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * Reads the rights that a container's program gives to what it starts there.
 *
 * <ol>
 *   <li>{@code docker exec} starts a program that waits, with a random variable by which it is found on the host.
 *   <li>Its parent is outside of the container, which nothing that the container itself starts can bring about.
 *   <li>Its rights, seccomp filters, folder and environment are written into a file; then it ends.
 * </ol>
 */
final class RightsProbe {

    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final long SECONDS = 10;
    private static final String VARIABLE = "PREEMPTIBLE_PROBE=";
    private static final int RANDOM_BYTES = 16;
    private static final SecureRandom RANDOM = new SecureRandom();

    private final ContainerTool tool;
    private final ContainerProcesses processes;

    RightsProbe(ContainerTool tool, ContainerProcesses processes) {
        this.tool = tool;
        this.processes = processes;
    }

    /**
     * @param file where they are written for {@code contained.pl}; only this user may read it
     * @return the same as the kernel shows them
     */
    Rights read(ContainedProgram program, Path file) throws IOException {
        byte[] random = new byte[RANDOM_BYTES];
        RANDOM.nextBytes(random);
        String mark = VARIABLE + HexFormat.of().formatHex(random);
        Process client = new ProcessBuilder(tool.probing(mark))
                .redirectErrorStream(true)
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .start();
        try {
            HostProcess probe = await(client, mark);
            HostTool.Answer answer = HostTool.run(SECONDS, Map.of(), program.call("rights", probe, List.of()));
            if (!answer.ok()) {
                throw new IOException(answer.firstLine());
            }
            Rights rights = Rights.of(probe.pid());
            if (find(mark).filter(probe::equals).isEmpty()) {
                throw new IOException("the process that tells its rights has ended");
            }
            Files.writeString(file, answer.text(), StandardOpenOption.CREATE, StandardOpenOption.TRUNCATE_EXISTING);
            return rights;
        } finally {
            end(client);
        }
    }

    private HostProcess await(Process client, String mark) throws IOException {
        long end = System.nanoTime() + LIMIT.toNanos();
        while (System.nanoTime() - end < 0) {
            Optional<HostProcess> found = find(mark);
            if (found.isPresent()) {
                return found.get();
            }
            if (!client.isAlive()) {
                throw new IOException("nothing can be started in it, not even cat");
            }
            pause();
        }
        throw new IOException("nothing was started in it within " + LIMIT.toSeconds() + " s");
    }

    private Optional<HostProcess> find(String mark) {
        List<Proc.Stat> all = processes.all();
        Set<Long> inside = all.stream().map(Proc.Stat::pid).collect(Collectors.toSet());
        return all.stream()
                .filter(process -> !inside.contains(process.ppid()))
                .flatMap(process -> HostProcess.of(process.pid()).stream())
                .filter(process -> hasVariable(process.pid(), mark) && process.alive())
                .findFirst();
    }

    private static boolean hasVariable(long pid, String variable) {
        try {
            String all = Files.readString(Path.of("/proc/" + pid + "/environ"), StandardCharsets.ISO_8859_1);
            return List.of(all.split("\0")).contains(variable);
        } catch (IOException e) {
            // It has ended.
            return false;
        }
    }

    private static void end(Process client) throws IOException {
        client.getOutputStream().close();
        try {
            if (!client.waitFor(SECONDS, TimeUnit.SECONDS)) {
                client.destroyForcibly();
            }
        } catch (InterruptedException e) {
            client.destroyForcibly();
            Thread.currentThread().interrupt();
        }
    }

    private static void pause() throws IOException {
        try {
            Thread.sleep(5);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException("interrupted", e);
        }
    }
}
