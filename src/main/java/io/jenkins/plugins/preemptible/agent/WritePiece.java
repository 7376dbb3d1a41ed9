package io.jenkins.plugins.preemptible.agent;

import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import java.io.File;
import java.io.IOException;
import java.io.InterruptedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.SeekableByteChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.OpenOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import jenkins.MasterToSlaveFileCallable;

/**
 * Writes a piece of a file that the controller brings.
 *
 * <ol>
 *   <li>The first piece makes the file, and replaces what was there; each further one continues it, and waits for those before
 *       it: several are on their way. It is woken by the one before it: many that look now and then take a good part of a
 *       processor.
 *   <li>A link is not followed.
 *   <li>On a disk that is full nothing of the file is left: what it has taken is missed by the builds that run there.
 * </ol>
 */
final class WritePiece extends MasterToSlaveFileCallable<Boolean> {

    private static final long serialVersionUID = 1L;

    /** Less than a call may take. */
    private static final long PATIENCE_NANOS = TimeUnit.MINUTES.toNanos(2);

    /** For one before it that does not wake this one: it failed, or came by an earlier connection. */
    private static final long LOOK_MILLIS = 50;

    /** Where a piece of this connection waits to continue a file. */
    private record Place(Path file, long offset) {}

    private static final Map<Place, CountDownLatch> AWAITED = new ConcurrentHashMap<>();

    private final long offset;
    private final byte[] piece;

    /** @param offset how much of the file is there already */
    WritePiece(long offset, byte[] piece) {
        this.offset = offset;
        this.piece = piece;
    }

    /** @return false when the disk has no room for it; the file is gone then */
    @Override
    public Boolean invoke(File to, VirtualChannel channel) throws IOException {
        Path path = to.toPath();
        Set<OpenOption> options = new HashSet<>(Set.of(StandardOpenOption.WRITE, LinkOption.NOFOLLOW_LINKS));
        if (offset == 0) {
            Files.createDirectories(Objects.requireNonNull(path.getParent(), "a file has a folder"));
            Files.deleteIfExists(path);
            options.add(StandardOpenOption.CREATE_NEW);
        }
        try (SeekableByteChannel file = Files.newByteChannel(path, options)) {
            if (file.size() < offset) {
                awaitTurn(path, file);
            }
            if (file.size() != offset) {
                throw new IOException(path + " has " + file.size() + " bytes in place of " + offset);
            }
            file.position(offset);
            for (ByteBuffer left = ByteBuffer.wrap(piece); left.hasRemaining(); ) {
                file.write(left);
            }
            CountDownLatch next = AWAITED.get(new Place(path, offset + piece.length));
            if (next != null) {
                next.countDown();
            }
        } catch (IOException x) {
            if (ImageException.writeFailed(path, x).reason() != ImageException.Reason.NO_SPACE) {
                throw x;
            }
            Files.deleteIfExists(path);
            return false;
        }
        return true;
    }

    private void awaitTurn(Path path, SeekableByteChannel file) throws IOException {
        Place place = new Place(path, offset);
        CountDownLatch turn = AWAITED.computeIfAbsent(place, each -> new CountDownLatch(1));
        try {
            // From here on it is woken; the one before it may have come to its end already.
            long began = System.nanoTime();
            boolean woken = false;
            while (!woken && file.size() < offset && System.nanoTime() - began < PATIENCE_NANOS) {
                woken = turn.await(LOOK_MILLIS, TimeUnit.MILLISECONDS);
            }
        } catch (InterruptedException x) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("the piece is not wanted any more");
        } finally {
            AWAITED.remove(place, turn);
        }
    }
}
