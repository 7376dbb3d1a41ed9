package io.jenkins.plugins.preemptible.engine.container;

import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;

/**
 * Real containers of Docker or Podman for tests, of an image that is made from nothing but a static busybox.
 *
 * <p>Skips the test, with the reason, where the program, its daemon or busybox is missing. Removes what it started.
 */
public final class RealContainers implements AutoCloseable {

    public static final String IMAGE = "preemptible-test:2";
    private static final List<String> TOOLS =
            List.of("sh", "cat", "sleep", "echo", "env", "kill", "true", "rm", "touch", "mkdir", "tr", "mv", "id");
    /** The steps of Jenkins want a ps that knows the options of procps. */
    private static final String PS = """
            #!/bin/sh
            for p in /proc/[0-9]*; do
              echo "${p#/proc/} $(tr '\\000' ' ' < $p/cmdline) $(tr '\\000' ' ' < $p/environ)"
            done 2>/dev/null
            true
            """;

    /** Which some builds of busybox lack. */
    private static final String NOHUP = """
            #!/bin/sh
            exec "$@"
            """;

    private static final long SECONDS = 120;
    private static final String TRIED =
            "preemptible-tried-" + ProcessHandle.current().pid();

    private final String program;
    /** Options of the program that choose another runtime, where its own does not work on this host. */
    private final List<String> runtime;

    private final List<String> started = new ArrayList<>();

    private RealContainers(String program, List<String> runtime) {
        this.program = program;
        this.runtime = runtime;
    }

    /** @param program docker or podman */
    public static RealContainers open(String program) throws IOException {
        assumeTrue(HostTool.find(program).isPresent(), program + " is not installed");
        HostTool.Answer info = HostTool.run(SECONDS, List.of(program, "ps", "-q"));
        assumeTrue(info.ok(), () -> program + " does not answer: " + info.firstLine());
        RealContainers real = tried(program, List.of());
        if (real == null && program.equals("podman") && HostTool.find("runc").isPresent()) {
            // crun refuses control groups of both versions side by side.
            real = tried(program, List.of("--runtime", "runc"));
        }
        assumeTrue(real != null, () -> program + " cannot run a container here");
        return real;
    }

    private static RealContainers tried(String program, List<String> runtime) throws IOException {
        RealContainers real = new RealContainers(program, runtime);
        if (!HostTool.run(SECONDS, List.of(program, "image", "inspect", IMAGE)).ok()) {
            real.makeImage();
        }
        HostTool.Answer tried = real.tryRun(Path.of("/tmp"), "--name", TRIED);
        real.started.add(TRIED);
        if (!tried.ok()) {
            System.err.println(program + ": " + tried.text().trim());
            real.close();
            return null;
        }
        real.remove(TRIED);
        return real;
    }

    private void makeImage() throws IOException {
        Path busybox = HostTool.find("busybox").orElse(null);
        assumeTrue(busybox != null, "busybox is not installed (Debian package busybox-static)");
        Path folder = Files.createTempDirectory("preemptible-image");
        try {
            Path bin = Files.createDirectory(folder.resolve("bin"));
            Files.copy(busybox, bin.resolve("busybox"));
            for (String tool : TOOLS) {
                Files.createSymbolicLink(bin.resolve(tool), Path.of("busybox"));
            }
            script(bin.resolve("ps"), PS);
            script(bin.resolve("nohup"), NOHUP);
            for (String name : List.of("tmp", "proc", "sys", "dev", "etc")) {
                Files.createDirectory(folder.resolve(name));
            }
            HostTool.Answer made = HostTool.run(
                    SECONDS,
                    List.of(
                            "sh",
                            "-c",
                            "tar -C '" + folder + "' -c . | " + program + " import --change 'ENV PATH=/bin' - "
                                    + IMAGE));
            assertTrue(made.ok(), made::text);
        } finally {
            StageFolder.delete(folder);
        }
    }

    private static void script(Path file, String text) throws IOException {
        Files.writeString(file, text);
        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
    }

    private HostTool.Answer tryRun(Path work, String... options) {
        List<String> words = new ArrayList<>(List.of(program));
        words.addAll(runtime);
        words.addAll(List.of("run", "-t", "-d", "--network", "none"));
        if (program.equals("podman")) {
            // Its own default may be above what this machine allows.
            words.addAll(List.of("--ulimit", "nofile=1024:1024", "--ulimit", "nproc=1024:1024"));
        }
        words.addAll(List.of("-w", work.toString(), "-v", work + ":" + work + ":rw"));
        words.addAll(List.of(options));
        words.addAll(List.of(IMAGE, "cat"));
        return HostTool.run(SECONDS, words);
    }

    /** Starts a container as the Docker Pipeline plugin does. */
    public ContainerRef run(Path work, String... options) {
        HostTool.Answer answer = tryRun(work, options);
        assertTrue(answer.ok(), answer::text);
        String id = answer.text().trim().lines().reduce((a, b) -> b).orElseThrow();
        started.add(id);
        return new ContainerRef(program, id);
    }

    /** Starts a script in it that nobody waits for. */
    public void exec(ContainerRef container, String script) {
        must("exec", "-d", container.id(), "sh", "-c", script);
    }

    /** Runs a program in it to its end. */
    public HostTool.Answer answer(ContainerRef container, String... command) {
        List<String> words = new ArrayList<>(List.of(program, "exec", container.id()));
        words.addAll(List.of(command));
        return HostTool.run(SECONDS, words);
    }

    public String status(ContainerRef container) {
        return HostTool.run(SECONDS, List.of(program, "inspect", "--format", "{{.State.Status}}", container.id()))
                .firstLine();
    }

    public boolean exists(ContainerRef container) {
        return HostTool.run(SECONDS, List.of(program, "ps", "-a", "-q", "--no-trunc"))
                .text()
                .contains(container.id());
    }

    public void remove(String id) {
        kill(id);
        must("rm", "-f", id);
        started.remove(id);
    }

    /** Podman's rm gives it ten seconds to end by itself. */
    private void kill(String id) {
        HostTool.run(SECONDS, List.of(program, "kill", "--signal", "KILL", id));
    }

    private void must(String... words) {
        List<String> command = new ArrayList<>(List.of(program));
        command.addAll(List.of(words));
        HostTool.Answer answer = HostTool.run(SECONDS, command);
        assertTrue(answer.ok(), () -> command + ": " + answer.text());
    }

    @Override
    public void close() {
        for (String id : started) {
            kill(id);
            HostTool.run(SECONDS, List.of(program, "rm", "-f", id));
        }
    }
}
