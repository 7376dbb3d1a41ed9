package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.HelperFreezer;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.stage.EnterCommand;
import io.jenkins.plugins.preemptible.engine.stage.PrivateTmp;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Predicate;

/**
 * Starts the processes of a stage in a way that CRIU can dump.
 *
 * <ol>
 *   <li>util-linux's unshare makes IPC, PID and mount namespaces; setsid follows inside of them, since a session
 *       leader outside of its PID namespace cannot be dumped.
 *   <li>{@code launch.sh} joins the control group, mounts /proc and the stage's own /tmp ({@link PrivateTmp}) and opens
 *       the descriptors inside; then it becomes {@code init.sh}, which stays until the last process ended.
 *   <li>Commands that enter later do the same through nsenter.
 * </ol>
 */
public final class StageLaunch {

    private static final Duration LIMIT = TimeLimits.of(Duration.ofSeconds(20));

    private StageLaunch() {}

    /**
     * Starts a stage and waits until its init is about to run the command.
     *
     * @return the init
     * @throws EngineException {@link FailureReason#LAUNCH_FAILED} with the words of the program that failed; nothing is
     *     left running
     */
    public static HostProcess start(StageSpec spec, StageFolder folder, Freezer freezer) throws IOException {
        if (freezer instanceof HelperFreezer helper) {
            return start(spec, folder, helper);
        }
        Path own = folder.path();
        List<String> command = new ArrayList<>(List.of(
                tool("setsid"),
                tool("unshare"),
                "--ipc",
                "--pid",
                "--mount",
                "--fork",
                "--propagation",
                "private",
                "--"));
        command.addAll(List.of(
                tool("setsid"),
                "/bin/sh",
                "-c",
                Script.text(StageLaunch.class, "launch.sh"),
                "preemptible-launch",
                spec.workDir().toString(),
                freezer.joinFile().map(Path::toString).orElse("")));
        String setting = System.getenv(PrivateTmp.SETTING);
        List<PrivateTmp> temporary = PrivateTmp.of(spec, own, home(spec), setting);
        command.add(Integer.toString(temporary.size()));
        temporary.forEach(t -> command.addAll(t.words()));
        command.addAll(settling(
                spec.workDir(),
                spec.command().isEmpty() ? Path.of("/dev/null") : own.resolve("output.log"),
                own,
                spec.command()));
        Path words = folder.path().resolve("launch.log");
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(new File("/"))
                .redirectInput(new File("/dev/null"))
                .redirectOutput(words.toFile())
                .redirectErrorStream(true);
        if (spec.environment() != null) {
            Map<String, String> environment = builder.environment();
            String path = environment.get("PATH");
            environment.clear();
            if (path != null) {
                environment.put("PATH", path);
            }
            environment.putAll(spec.environment());
        }
        Process process = builder.start();
        try {
            return awaitInit(process, i -> Files.exists(own.resolve("ready")), words);
        } catch (EngineException | IOException e) {
            // Without a control group the init would survive the process that waits for it.
            process.descendants().forEach(ProcessHandle::destroyForcibly);
            freezer.kill(null);
            process.destroyForcibly();
            throw e;
        }
    }

    // The privileged part makes the namespaces, and a /tmp of the stage's own where nothing of the host's has to be in
    // it.
    private static HostProcess start(StageSpec spec, StageFolder folder, HelperFreezer helper) throws IOException {
        Path own = folder.path();
        boolean ownTmp = PrivateTmp.of(spec, own, home(spec), System.getenv(PrivateTmp.SETTING)).stream()
                .anyMatch(t -> t.at().equals(Path.of("/tmp")) && t.through().isEmpty());
        List<String> command = settling(
                spec.workDir().toRealPath(),
                umask(),
                spec.command().isEmpty() ? Path.of("/dev/null") : own.resolve("output.log"),
                own,
                spec.command());
        Path words = own.resolve("launch.log");
        long pid = helper.part()
                .start(helper.id(), command, environment(spec), words, !ownTmp)
                .init();
        HostProcess init = HostProcess.of(pid).orElse(new HostProcess(pid, 0, Proc.bootId()));
        long end = System.nanoTime() + LIMIT.toNanos();
        while (!Files.exists(own.resolve("ready"))) {
            if (!init.alive() && !Files.exists(own.resolve("ready"))) {
                throw new EngineException(
                        FailureReason.LAUNCH_FAILED, Files.readString(words).trim());
            }
            if (System.nanoTime() - end > 0) {
                throw new EngineException(FailureReason.LAUNCH_FAILED, "not ready within " + LIMIT.toSeconds() + " s");
            }
            try {
                Thread.sleep(2);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new EngineException(FailureReason.LAUNCH_FAILED, "interrupted");
            }
        }
        return init;
    }

    /** The environment of a stage that the privileged part starts: as asked, with this process's PATH if it has none. */
    static Map<String, String> environment(StageSpec spec) {
        Map<String, String> environment =
                new HashMap<>(spec.environment() == null ? System.getenv() : spec.environment());
        String path = System.getenv("PATH");
        if (path != null) {
            environment.putIfAbsent("PATH", path);
        }
        return environment;
    }

    /** This process's umask, in octal digits. */
    static String umask() {
        return Proc.statusWords(ProcessHandle.current().pid(), "Umask").stream()
                .findFirst()
                .orElse("0022");
    }

    private static List<String> settling(Path workDir, Path output, Path own, List<String> command) {
        List<String> words = new ArrayList<>(List.of(
                "/bin/sh",
                "-c",
                Script.text(StageLaunch.class, "settle.sh"),
                "preemptible-settle",
                workDir.toString(),
                output.toString(),
                Script.text(StageLaunch.class, "init.sh"),
                own.toString()));
        words.addAll(command);
        return words;
    }

    /**
     * The argument vector of a stage's first process, for a program that makes the namespaces around it: with no more
     * rights than the stage has, it enters the working folder, opens the output and becomes the init.
     *
     * @param umask as octal digits
     * @param own the stage's folder, into which the init writes
     */
    public static List<String> settling(Path workDir, String umask, Path output, Path own, List<String> command) {
        List<String> words = new ArrayList<>(
                List.of("/bin/sh", "-c", "umask \"$1\" || exit 125; shift; exec \"$@\"", "preemptible-umask", umask));
        words.addAll(settling(workDir, output, own, command));
        return words;
    }

    /** The init of a stage whose start was cut off before it was recorded; empty when there is none. */
    public static Optional<HostProcess> find(StageFolder folder) {
        return Proc.all().stream()
                .filter(s -> isInit(Proc.arguments(s.pid()), folder) && Proc.innerPid(s.pid()) == 1)
                .findFirst()
                .flatMap(s -> HostProcess.of(s.pid()));
    }

    private static boolean isInit(List<String> arguments, StageFolder folder) {
        return arguments.contains(folder.path().toString())
                && (arguments.contains("preemptible-init")
                        || arguments.contains("preemptible-settle")
                        || arguments.contains("preemptible-launch"));
    }

    private static String home(StageSpec spec) {
        return (spec.environment() == null ? System.getenv() : spec.environment()).get("HOME");
    }

    /**
     * Returns the init, which is not alive any more when the stage has already ended.
     *
     * @param ready whether the stage is about to run its command; asked with null when its init is gone
     */
    static HostProcess awaitInit(Process process, Predicate<HostProcess> ready, Path words) throws IOException {
        long end = System.nanoTime() + LIMIT.toNanos();
        HostProcess init = null;
        while (System.nanoTime() - end < 0) {
            if (init == null) {
                // Only unshare's child is the init; its later children are never seen from here.
                init = process.toHandle()
                        .children()
                        .findFirst()
                        .flatMap(h -> HostProcess.of(h.pid()))
                        .orElse(null);
            }
            if (init != null && ready.test(init)) {
                return init;
            }
            if (!process.isAlive()) {
                if (ready.test(null)) {
                    return init != null ? init : new HostProcess(process.pid(), 0, Proc.bootId());
                }
                throw new EngineException(
                        FailureReason.LAUNCH_FAILED, Files.readString(words).trim());
            }
            try {
                Thread.sleep(2);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new EngineException(FailureReason.LAUNCH_FAILED, "interrupted");
            }
        }
        throw new EngineException(FailureReason.LAUNCH_FAILED, "not ready within " + LIMIT.toSeconds() + " s");
    }

    /**
     * How a command enters the stage.
     *
     * @throws EngineException {@link FailureReason#LAUNCH_FAILED} when the host's own paths are such that no other
     *     process would take them from it
     */
    public static EnterCommand enter(StageId id, HostProcess init, Freezer freezer) {
        if (freezer instanceof HelperFreezer helper) {
            return helper.part().enter(helper.id());
        }
        String join = freezer.joinFile().map(Path::toString).orElse("");
        try {
            return new EnterCommand.Direct(id.value(), init.pid(), join, tool("nsenter"), tool("setsid"));
        } catch (IllegalArgumentException e) {
            throw new EngineException(FailureReason.LAUNCH_FAILED, join + ": " + e.getMessage(), List.of(), e);
        }
    }

    private static String tool(String name) {
        return HostTool.find(name)
                .map(Path::toString)
                .orElseThrow(() ->
                        new EngineException(FailureReason.LAUNCH_FAILED, name + " of util-linux is not on this host"));
    }
}
