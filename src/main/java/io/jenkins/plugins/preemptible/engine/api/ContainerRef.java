package io.jenkins.plugins.preemptible.engine.api;

import java.io.Serializable;
import java.util.regex.Pattern;

/**
 * A container of Docker or Podman, as the program that started it names it.
 *
 * @param program {@code docker} or {@code podman}, without a folder: the engine finds it itself
 * @param id 12 to 64 hexadecimal digits, as {@code docker run -d} prints them
 */
public record ContainerRef(String program, String id) implements Serializable {

    private static final Pattern PROGRAM = Pattern.compile("docker|podman");
    private static final Pattern ID = Pattern.compile("[0-9a-f]{12,64}");
    private static final int SHORT = 12;

    /**
     * @throws IllegalArgumentException when either is of another form
     */
    public ContainerRef {
        if (program == null || !PROGRAM.matcher(program).matches() || !isId(id)) {
            throw new IllegalArgumentException("no container of Docker or Podman");
        }
    }

    /** Whether this can be the id of a container. */
    public static boolean isId(String text) {
        return text != null && ID.matcher(text).matches();
    }

    /** For people: the id as the program's own lists show it. */
    public String shown() {
        return program + " container " + id.substring(0, SHORT);
    }
}
