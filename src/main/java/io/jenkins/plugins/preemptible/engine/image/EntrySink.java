package io.jenkins.plugins.preemptible.engine.image;

import java.io.IOException;
import java.io.InputStream;

/**
 * Sees the files of an image while the image is read, without any of them reaching a disk.
 *
 * <ol>
 *   <li>{@link #entry} is called once for every image file, in the order in which they lie in the archive.
 *   <li>The sink reads as much of the content as it wants, nothing included; what it leaves is skipped.
 *   <li>Every byte it sees was authenticated, but the archive's end was not seen yet: what it gathered is worth
 *       something only after the reading call returned.
 * </ol>
 *
 * Called by the thread that reads, never at the same time.
 */
@FunctionalInterface
public interface EntrySink {

    /** Reads nothing. */
    EntrySink NONE = (name, bytes, content) -> {};

    /**
     * @param name of the image file, such as {@code core-1.img}; one plain name, as {@code criu dump} gave it
     * @param bytes its size, before compression
     * @param content its bytes, ending after {@code bytes}; good only until this returns, need not be closed
     * @throws IOException stops the reading, and comes out of it as an {@link ImageException} that says so
     */
    void entry(String name, long bytes, InputStream content) throws IOException;

    /**
     * Called in place of {@link #entry} for a file of a difference that is partly in its parent, so that its bytes are
     * not known from this archive alone. Does nothing unless overridden.
     *
     * @param stored bytes of it that this archive holds
     */
    default void reference(String name, long bytes, long stored) throws IOException {}
}
