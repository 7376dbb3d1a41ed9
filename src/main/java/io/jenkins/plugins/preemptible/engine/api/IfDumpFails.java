package io.jenkins.plugins.preemptible.engine.api;

/**
 * What becomes of a frozen stage whose dump fails.
 *
 * <ol>
 *   <li>Nothing of the attempt is left in either case: no image, no archive.
 *   <li>{@link #THAW}: it runs on, as if nothing had been asked.
 *   <li>{@link #STAY_FROZEN}: its executor belongs to somebody else already; the caller dumps it again, or thaws it
 *       when the executor is back.
 * </ol>
 */
public enum IfDumpFails {
    THAW,
    STAY_FROZEN
}
