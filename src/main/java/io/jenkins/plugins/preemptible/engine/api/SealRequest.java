package io.jenkins.plugins.preemptible.engine.api;

/**
 * Conditions under which a frozen stage is dumped and sealed.
 *
 * @param ifFails what becomes of the stage then; no file is left in either case
 * @param extent {@link Extent#DIFFERENCE} writes only what changed since the last full image. To restore it, that image has
 *     to lie beside the new archive.
 * @param awaited whether somebody waits for the image: it is made at the caller's priority even where the stage's executor
 *     was released at the freeze, and not at idle priority
 */
public record SealRequest(IfDumpFails ifFails, Extent extent, boolean awaited) {

    /** A full image, for which nobody waits. */
    public static SealRequest full(IfDumpFails ifFails) {
        return new SealRequest(ifFails, Extent.FULL, false);
    }

    /** The same, at that urgency. */
    public SealRequest awaited(boolean isAwaited) {
        return new SealRequest(ifFails, extent, isAwaited);
    }
}
