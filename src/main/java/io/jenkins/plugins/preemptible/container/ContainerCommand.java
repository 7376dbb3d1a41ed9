package io.jenkins.plugins.preemptible.container;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;

/**
 * A command line of Docker or Podman, as the Docker Pipeline plugin writes it.
 *
 * @param program {@code docker} or {@code podman}
 * @param words what follows it
 */
public record ContainerCommand(String program, List<String> words) {

    private static final String EXEC = "exec";
    /** The options that the plugin gives to exec, each with a value. */
    private static final Set<String> OF_EXEC = Set.of("--workdir", "--env");

    private static final Set<String> ENDING = Set.of("stop", "rm");

    public ContainerCommand {
        words = List.copyOf(words);
    }

    /** @return null when it is another program's */
    @CheckForNull
    public static ContainerCommand of(List<String> command) {
        if (command.isEmpty()) {
            return null;
        }
        String program = command.get(0).substring(command.get(0).lastIndexOf('/') + 1);
        return program.equals("docker") || program.equals("podman")
                ? new ContainerCommand(program, command.subList(1, command.size()))
                : null;
    }

    /** The container that a program is started in; null when it is none, or not to be told. */
    @CheckForNull
    public ContainerRef execIn() {
        int at = idAt();
        return at < 0 ? null : new ContainerRef(program, words.get(at));
    }

    private int idAt() {
        if (words.isEmpty() || !words.get(0).equals(EXEC)) {
            return -1;
        }
        int at = 1;
        while (at < words.size() && OF_EXEC.contains(words.get(at))) {
            at += 2;
        }
        return at < words.size() && ContainerRef.isId(words.get(at)) ? at : -1;
    }

    /** Whether it starts a program in this container. */
    public boolean startsIn(ContainerRef container) {
        ContainerRef named = execIn();
        return named != null
                && named.program().equals(container.program())
                && container.id().startsWith(named.id());
    }

    /** The words of {@link #words} in front of the program that it starts. */
    public int optionsLength() {
        return idAt() + 1;
    }

    /** The working folder that it asks for; empty where it asks for none. */
    public String folder() {
        List<String> folders = values("--workdir");
        return folders.isEmpty() ? "" : folders.get(folders.size() - 1);
    }

    /** The variables that it gives, as {@code NAME=value}. */
    public List<String> variables() {
        return values("--env");
    }

    private List<String> values(String option) {
        List<String> values = new ArrayList<>();
        for (int at = 1; at + 1 < idAt(); at += 2) {
            if (words.get(at).equals(option)) {
                values.add(words.get(at + 1));
            }
        }
        return values;
    }

    /** Whether it lists the processes of a container: so that plugin begins to kill a step. */
    public boolean listsProcesses() {
        int at = idAt();
        return at >= 0 && at + 1 < words.size() && words.get(at + 1).equals("ps");
    }

    /** Whether it ends this container. */
    public boolean ends(ContainerRef container) {
        return !words.isEmpty()
                && ENDING.contains(words.get(0))
                && container.program().equals(program)
                && words.contains(container.id());
    }
}
