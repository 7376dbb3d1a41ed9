package io.jenkins.plugins.preemptible.lifecycle.image;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.util.function.BooleanSupplier;

/**
 * An image among a build's artifacts, from its beginning, while the rest of it is still written.
 *
 * <p>It ends where its own tail says so. For one thread.
 */
public final class GrowingArchive implements Closeable {

    private static final long LOOK_MILLIS = 5;

    private final Path file;

    /** Null until there is a file. */
    @CheckForNull
    private FileChannel channel;

    @CheckForNull
    private Object identity;

    private long at;

    /** @param file which need not be there yet */
    GrowingArchive(Path file) {
        this.file = file;
    }

    @CheckForNull
    private FileChannel opened() throws IOException {
        if (channel == null && Files.exists(file, LinkOption.NOFOLLOW_LINKS)) {
            channel = FileChannel.open(file, StandardOpenOption.READ, LinkOption.NOFOLLOW_LINKS);
            identity = identity();
        }
        return channel;
    }

    /** Null where the file system has none; then nothing is compared. */
    @CheckForNull
    private Object identity() throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS)
                .fileKey();
    }

    /**
     * The next bytes, so many as soon as they are there, and fewer at the end.
     *
     * @return null when they are not there yet; none behind the end
     * @throws IOException when the file is a link, was removed, or another one has taken its place
     */
    @CheckForNull
    public byte[] next(int most) throws IOException {
        FileChannel open = opened();
        if (open == null) {
            return null;
        }
        long there = open.size();
        boolean whole = there - at < most && ArchiveFormat.endsWithTail(open, there);
        if (there - at >= most || whole) {
            byte[] bytes = ArchiveFormat.bytesAt(open, at, (int) Math.min(most, there - at));
            at += bytes.length;
            return bytes;
        }
        Object now = identity();
        if (identity != null && !identity.equals(now)) {
            throw new IOException("the image is made anew");
        }
        return null;
    }

    /**
     * The same as {@link #next}, but waits for it.
     *
     * @param wanted asked about every 5 ms, from this thread
     * @return null when it is not wanted any more
     * @throws IOException as {@link #next} does
     */
    @CheckForNull
    public byte[] await(int most, BooleanSupplier wanted) throws IOException, InterruptedException {
        while (wanted.getAsBoolean()) {
            byte[] bytes = next(most);
            if (bytes != null) {
                return bytes;
            }
            Thread.sleep(LOOK_MILLIS);
        }
        return null;
    }

    @Override
    public void close() throws IOException {
        if (channel != null) {
            channel.close();
        }
    }
}
