package io.jenkins.plugins.preemptible.engine.fixup;

import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * All fix-ups, applied to an image right after its dump.
 *
 * <ol>
 *   <li>They run in the order of {@link #ALL}, each on what the one before left.
 *   <li>Most images need none: then nothing is written.
 *   <li>The names of those that changed something are for the report.
 * </ol>
 */
public final class ImageFixups {

    /** Every fix-up there is. */
    public static final List<ImageFixup> ALL = List.of(new MissingVdso(), new ExpiredTimerfd(), new HugeReservation());

    private ImageFixups() {}

    /**
     * Applies those that an image needs.
     *
     * @param imageFolder what a successful {@code criu dump -D} wrote, before anything is computed from it
     * @return the names of those that changed something, in their order; usually empty
     * @throws IOException when the image could not be read or changed: it must not be packed then
     */
    public static List<String> apply(Path imageFolder) throws IOException {
        List<String> applied = new ArrayList<>();
        for (ImageFixup fixup : ALL) {
            if (fixup.apply(imageFolder)) {
                applied.add(fixup.name());
            }
        }
        return List.copyOf(applied);
    }

    /** Whether a process of the image has unmapped its vDSO, as Valgrind does. */
    public static boolean lacksVdso(Path imageFolder) throws IOException {
        return MissingVdso.isIn(imageFolder);
    }
}
