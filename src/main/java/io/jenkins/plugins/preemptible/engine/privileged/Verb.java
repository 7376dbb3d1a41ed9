package io.jenkins.plugins.preemptible.engine.privileged;

import java.util.Locale;

/**
 * What the privileged part can be asked for; there is nothing else. Its own list stands in {@code helper/main.c}.
 *
 * <p>A verb is the first argument, as {@link #word} has it; the id of a stage is the second and last one. The command
 * of {@link #START} and {@link #ENTER} comes on standard input, see {@link HelperRequest}.
 */
public enum Verb {
    /** The number of the interface, and what the installed program can do. */
    VERSION,
    /** Makes a control group and namespaces, and removes them again. */
    CHECK,
    START,
    /** As START, for a stage that keeps the host's /tmp; of the level "checkpoints", whose stages else have their own. */
    START_HOST_TMP,
    ENTER,
    STATUS,
    FREEZE,
    THAW,
    KILL,
    FORGET,
    /** Of the level "checkpoints": becomes a program that reads {@code /proc}, see {@link StageReader}. */
    INSPECT,
    /** Of the level "checkpoints"; the words are two folders and options. */
    DUMP,
    /** As DUMP. */
    RESTORE;

    String word() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }
}
