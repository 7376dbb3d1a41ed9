package io.jenkins.plugins.preemptible.engine.text;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;

/**
 * A fixed shell script of the engine, handed to {@code sh -c} as text.
 *
 * <ol>
 *   <li>It is read as a resource beside its class, which also works for classes that came over a wire.
 *   <li>Text, not a file: a shell keeps its script file open, and then the file would be part of the image.
 *   <li>Lines that are comments only are left out, since the text shows in process lists.
 * </ol>
 */
public final class Script {

    private Script() {}

    /** The text of a resource beside {@code owner}. */
    public static String text(Class<?> owner, String name) {
        try (InputStream in = owner.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("the engine's script " + name + " is missing from its package");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8)
                    .lines()
                    .filter(l -> !l.isBlank() && !l.trim().startsWith("#"))
                    .collect(Collectors.joining("\n"));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
