package io.jenkins.plugins.preemptible.engine.api;

import java.nio.file.Path;

/**
 * Something on this host that is not needed any more.
 *
 * @param kind what it is
 * @param path where it is, or was
 * @param why a few words, such as {@code KILLED}
 */
public record Leftover(Kind kind, Path path, String why) {

    /** What can be left of a stage. */
    public enum Kind {
        /** The folder of a stage that ended, failed or was killed. */
        FOLDER,
        /** A folder among those of the stages in which no record is. */
        FOLDER_WITHOUT_RECORD,
        /** A control group in which nothing runs. */
        GROUP,
        /** The sealed image of a stage that was killed. */
        IMAGE
    }
}
