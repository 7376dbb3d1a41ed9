package io.jenkins.plugins.preemptible.engine.api;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/**
 * What is to be run as a stage.
 *
 * <ol>
 *   <li>{@code command} is an argument vector, run in {@code workDir} as the stage's first process.
 *   <li>An empty command makes a sandbox: an init that idles until killed, for processes that enter later.
 *   <li>{@code environment} replaces the caller's whole environment; null inherits it.
 * </ol>
 *
 * @param connections what a suspension does with its TCP connections to the outside
 * @param preserved absolute paths that are packed into the image with the stage, consistent with it
 */
public record StageSpec(
        StageId id,
        String name,
        Path workDir,
        List<String> command,
        Map<String, String> environment,
        Connections connections,
        List<Path> preserved) {

    /**
     * @throws IllegalArgumentException when the id, the folder or the command is missing, or a path is relative
     */
    public StageSpec {
        if (id == null || workDir == null || command == null) {
            throw new IllegalArgumentException("a stage needs an id, a working folder and a (perhaps empty) command");
        }
        if (!workDir.isAbsolute()) {
            throw new IllegalArgumentException("the working folder '" + workDir + "' is not absolute");
        }
        name = name == null || name.isBlank() ? id.value() : name;
        command = List.copyOf(command);
        environment = environment == null ? null : Map.copyOf(environment);
        connections = connections == null ? Connections.REFUSE : connections;
        preserved = preserved == null ? List.of() : List.copyOf(preserved);
        for (Path path : preserved) {
            if (!path.isAbsolute()) {
                throw new IllegalArgumentException("the preserved path '" + path + "' is not absolute");
            }
        }
    }

    /** Without preserved paths; connections to the outside stop its suspension. */
    public StageSpec(StageId id, String name, Path workDir, List<String> command, Map<String, String> environment) {
        this(id, name, workDir, command, environment, Connections.REFUSE, List.of());
    }
}
