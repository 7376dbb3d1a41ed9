package io.jenkins.plugins.preemptible.engine.api;

/**
 * What becomes of a frozen stage whose dump fails.
 *
 * <ol>
 *   <li>Nothing of the attempt is left in either case: no image, no archive.
 *   <li>{@link #THAW}: the stage runs again, as if nothing had been asked.
 *   <li>{@link #STAY_FROZEN}: its executor is already used by another build; the caller dumps it again, or thaws it
 *       when the executor is back.
 * </ol>
 */
public enum IfDumpFails {
    THAW,
    STAY_FROZEN
}
