package io.jenkins.plugins.preemptible.engine.fixup;

import java.io.IOException;
import java.nio.file.Path;

/**
 * A change to a dumped image without which stock CRIU would not restore it.
 *
 * <ol>
 *   <li>Each is a class of its own, which says what program leaves such an image and why the change is right.
 *   <li>It reads the files that it knows and changes those that need it; others stay as they are, byte for byte.
 *   <li>{@link ImageFixups} has the list of all, and applies them before the image is packed.
 * </ol>
 *
 * Stateless, safe for any thread; two must not work on the same folder at a time.
 */
public sealed interface ImageFixup permits MissingVdso, ExpiredTimerfd, HugeReservation {

    /** Short and stable, for logs and JSON, such as {@code missing-vdso}. */
    String name();

    /** Why CRIU would fail and why the change is right, as a sentence without the final stop. */
    String why();

    /**
     * Makes the change where it is needed.
     *
     * @param imageFolder what a successful {@code criu dump -D} wrote; nothing else may change it meanwhile
     * @return whether anything was changed
     * @throws IOException when a file could not be read or replaced; each file is then either old or new, never half
     */
    boolean apply(Path imageFolder) throws IOException;
}
