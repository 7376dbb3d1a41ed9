package io.jenkins.plugins.preemptible.engine.stage;

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
 */
public record StageSpec(StageId id, String name, Path workDir, List<String> command, Map<String, String> environment) {

    /**
     * @throws IllegalArgumentException when the id, the folder or the command is missing, or the folder is relative
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
    }
}
