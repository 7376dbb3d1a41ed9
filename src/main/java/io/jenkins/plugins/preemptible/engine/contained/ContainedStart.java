package io.jenkins.plugins.preemptible.engine.contained;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.JoinFiles;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.ContainedProgram;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.StageContainer;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * Starts a stage inside of a running container, and lets commands enter it.
 *
 * <ol>
 *   <li>{@link #find} says whether the container is one for stages; a refusal costs the stage nothing but its images.
 *   <li>{@link #start} reads the rights that the container's program gives, and starts an init with them in namespaces of its
 *       own. The program has to tell that it has started something for that: see {@link ContainerEvents}.
 *   <li>Then the kernel is asked whether the init's rights are those; if not, it is killed and the start refused. The same
 *       after each restore ({@link #differsNow}).
 * </ol>
 */
public final class ContainedStart {

    private static final Duration LIMIT = Duration.ofSeconds(20);
    private static final String RIGHTS = "rights";
    private static final String SEEN = "rights-seen";

    private ContainedStart() {}

    /**
     * The container, if a stage can live in it.
     *
     * @param marks variables with their values that it was started with: another one is never entered
     * @throws EngineException {@link FailureReason#CONTAINER_NOT_ENTERED}
     */
    public static StageContainer find(ContainerRef container, List<String> marks) {
        ContainerTool.Seen seen;
        boolean checksHealth;
        try {
            ContainerTool tool = new ContainerTool(container);
            seen = tool.inspect(marks).orElseThrow(() -> new IOException(container.program() + " does not know it"));
            checksHealth = tool.checksHealth();
        } catch (IOException e) {
            throw refused(container, e.getMessage());
        }
        if (!seen.marked()) {
            throw refused(container, "it was not started by the build of this stage");
        }
        if (!seen.runs()) {
            throw refused(container, "it is " + seen.status());
        }
        // Before it is examined: what is found then is of this very process if it is still there afterwards.
        HostProcess first = HostProcess.of(seen.pid())
                .orElseThrow(() -> refused(container, "its processes are not to be seen on this host"));
        if (!new ContainerProcesses(seen.id()).has(seen.pid())) {
            throw refused(container, "its processes are not to be seen on this host");
        }
        if (checksHealth) {
            // It would run beside the dump of the stage: see Bystanders.
            throw refused(container, "it has a health check, which its program starts also while the stage is dumped");
        }
        ContainerFit.obstacle(seen.pid())
                .or(() -> ContainerFit.strangers(new ContainerProcesses(seen.id()), seen.pid()))
                .ifPresent(why -> {
                    throw refused(container, why);
                });
        if (!first.alive()) {
            throw refused(container, "it has just ended");
        }
        return new StageContainer(new ContainerRef(container.program(), seen.id()), first);
    }

    /**
     * Starts an init that idles until it is killed.
     *
     * @throws EngineException {@link FailureReason#CONTAINER_NOT_ENTERED}; nothing is left running
     */
    public static HostProcess start(StageContainer container, StageFolder folder, Freezer freezer) throws IOException {
        Process process = null;
        try {
            ContainedProgram program = program();
            ContainerTool tool = new ContainerTool(container.container());
            String id = container.container().id();
            Instant before = Instant.now();
            Rights wanted = new RightsProbe(tool, new ContainerProcesses(id)).read(program, rights(folder));
            new ContainerEvents(tool, id).requireTold(before);
            ContainerFit.obstacle(wanted).ifPresent(why -> {
                throw refused(container.container(), why);
            });
            wanted.write(folder.path().resolve(SEEN));
            Path words = folder.path().resolve("launch.log");
            ProcessBuilder builder = new ProcessBuilder(command(program, container, folder, freezer))
                    .directory(new File("/"))
                    .redirectInput(new File("/dev/null"))
                    .redirectOutput(words.toFile())
                    .redirectErrorStream(true);
            builder.environment().clear();
            process = builder.start();
            HostProcess init = await(process, words);
            Optional<String> difference = differsNow(folder, init.pid());
            if (difference.isPresent()) {
                throw new IOException("other rights than those of its processes: " + difference.get());
            }
            return init;
        } catch (IOException | EngineException e) {
            freezer.kill(null);
            if (process != null) {
                process.descendants().forEach(ProcessHandle::destroyForcibly);
                process.destroyForcibly();
            }
            throw e instanceof EngineException told ? told : refused(container.container(), e.getMessage());
        }
    }

    private static List<String> command(
            ContainedProgram program, StageContainer container, StageFolder folder, Freezer freezer)
            throws IOException {
        List<String> words = new ArrayList<>(List.of(rights(folder).toString()));
        words.addAll(ContainedProgram.counted(joinFiles(container, freezer)));
        words.add(Script.text(Criu.class, "restored.sh"));
        words.add(Script.text(ContainedStart.class, "init.sh"));
        List<String> command = new ArrayList<>(List.of(HostTool.find("setsid")
                .orElseThrow(() -> new IOException("setsid of util-linux is not on this host"))
                .toString()));
        command.addAll(program.call("start", container.first(), words));
        return command;
    }

    private static List<String> joinFiles(StageContainer container, Freezer freezer) throws IOException {
        return JoinFiles.of(container.first(), freezer).stream()
                .map(Path::toString)
                .toList();
    }

    private static Path rights(StageFolder folder) {
        return folder.path().resolve(RIGHTS);
    }

    private static HostProcess await(Process process, Path words) throws IOException {
        long end = System.nanoTime() + LIMIT.toNanos();
        while (System.nanoTime() - end < 0) {
            boolean alive = process.isAlive();
            String said = Files.readString(words);
            if (said.matches("\\d+\n")) {
                return HostProcess.of(Long.parseLong(said.trim()))
                        .orElseThrow(() -> new IOException("its shell ended at once; it has to have sh and sleep"));
            }
            if (!alive) {
                throw new IOException(said.trim());
            }
            try {
                Thread.sleep(2);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IOException("interrupted", e);
            }
        }
        throw new IOException("not ready within " + LIMIT.toSeconds() + " s");
    }

    /** In what the rights of a stage's init differ from those that a process of its container has; empty when in nothing. */
    public static Optional<String> differsNow(StageFolder folder, long init) throws IOException {
        return Rights.read(folder.path().resolve(SEEN)).difference(Rights.of(init));
    }

    /** How a command enters the stage. */
    public static EnterCommand enter(
            String id, StageContainer container, HostProcess init, StageFolder folder, Freezer freezer) {
        try {
            ContainedProgram program = program();
            return new EnterCommand.Contained(
                    id,
                    container.container(),
                    init,
                    joinFiles(container, freezer),
                    rights(folder).toString(),
                    program.perl(),
                    program.architecture());
        } catch (IOException | IllegalArgumentException e) {
            throw new EngineException(FailureReason.LAUNCH_FAILED, e.getMessage(), List.of(), e);
        }
    }

    private static ContainedProgram program() throws IOException {
        try {
            return ContainedProgram.ofThisHost();
        } catch (IllegalArgumentException e) {
            throw new IOException(e.getMessage(), e);
        }
    }

    private static EngineException refused(ContainerRef container, String why) {
        return new EngineException(FailureReason.CONTAINER_NOT_ENTERED, container.shown() + ": " + why);
    }
}
