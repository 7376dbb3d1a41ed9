package io.jenkins.plugins.preemptible.engine.move;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import java.util.List;
import java.util.Objects;

/**
 * Where folders of a stage were made on this host: kept in the home folder from before the first of them is made until nothing
 * hidden is left of them.
 *
 * @param folders their places, absolute
 * @param attempt the random name of the only unpacking that may still put something there, or of what has revoked that
 */
@JsonIgnoreProperties(ignoreUnknown = true)
record UnpackedFolders(List<String> folders, String attempt) {

    static final UnpackedFolders NONE = new UnpackedFolders(List.of(), "");

    UnpackedFolders {
        folders = folders == null
                ? List.of()
                : folders.stream()
                        .filter(path -> path != null && path.startsWith("/") && path.indexOf('\0') < 0)
                        .toList();
        attempt = Objects.requireNonNullElse(attempt, "");
    }
}
