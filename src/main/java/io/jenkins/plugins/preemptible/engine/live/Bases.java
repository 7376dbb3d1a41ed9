package io.jenkins.plugins.preemptible.engine.live;

import java.nio.file.Path;
import java.util.Set;

/**
 * Full checkpoints of the same stage that a new one may refer to for what did not change since. The caller keeps their
 * archives; the engine has kept an index of each. One without an index costs a full checkpoint, nothing else.
 *
 * @param image file name that the image's archive had when it was made; null = none, the new image is a full one
 * @param files the same of the files' archive
 * @param others file names of further archives that later checkpoints may refer to; the indexes of all but these are
 *     removed
 */
public record Bases(String image, String files, Set<String> others) {

    /** Two full archives. */
    public static final Bases NONE = new Bases(null, null, Set.of());

    public Bases {
        others = Set.copyOf(others);
        requirePlain(image);
        requirePlain(files);
    }

    private static void requirePlain(String name) {
        if (name != null && !name.equals(String.valueOf(Path.of(name).getFileName()))) {
            throw new IllegalArgumentException("a file's name is meant, without folders: " + name);
        }
    }
}
