package io.jenkins.plugins.preemptible.engine.api;

import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import java.nio.file.Path;

/**
 * What a frozen stage is to be dumped and sealed into.
 *
 * @param archive a file in an existing folder; replaced when it exists
 * @param ifFails what becomes of the stage then; no file is left in either case
 * @param extent {@link Extent#DIFFERENCE} writes only what changed since the last full image. To restore it, that image has
 *     to lie beside the new archive.
 * @param awaited whether somebody waits for the image: it is made at the caller's priority even where the stage's executor
 *     was released at the freeze, and not at idle priority
 */
public record SealRequest(Path archive, ImageKey key, IfDumpFails ifFails, Extent extent, boolean awaited) {

    /** A full image, for which nobody waits. */
    public static SealRequest of(Path archive, ImageKey key, IfDumpFails ifFails) {
        return new SealRequest(archive, key, ifFails, Extent.FULL, false);
    }

    /** The same of that extent. */
    public SealRequest with(Extent wanted) {
        return new SealRequest(archive, key, ifFails, wanted, awaited);
    }

    /** The same, at that urgency. */
    public SealRequest awaited(boolean isAwaited) {
        return new SealRequest(archive, key, ifFails, extent, isAwaited);
    }

    /** The same, with an absolute path. */
    public SealRequest absolute() {
        return new SealRequest(archive.toAbsolutePath(), key, ifFails, extent, awaited);
    }
}
