package io.jenkins.plugins.preemptible.engine.image.archive;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import java.io.IOException;
import java.io.InputStream;
import java.io.InterruptedIOException;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;

/**
 * Reads a stream on a thread of its own, a few megabytes ahead.
 *
 * <ol>
 *   <li>That thread decrypts and decompresses, while the reader hashes and writes.
 *   <li>A failure reaches the reader after the bytes that came before it.
 *   <li>Closing stops the thread and waits for it, so that the stream below may be closed next.
 * </ol>
 */
final class ReadAhead extends InputStream {

    private static final int AHEAD = 6;

    private final InputStream in;
    private final BlockingQueue<Piece> pieces = new ArrayBlockingQueue<>(AHEAD);
    private final BlockingQueue<byte[]> used = new ArrayBlockingQueue<>(AHEAD + 2);
    private final Thread thread;
    private Piece current;
    private int at;
    private Exception failure;

    /** No bytes: the end, or the failure. */
    private record Piece(byte[] bytes, int length, Exception failure) {}

    ReadAhead(InputStream in) {
        this.in = in;
        this.thread = new Thread(this::run, "image-read-ahead");
        thread.setDaemon(true);
        thread.start();
    }

    private void run() {
        try {
            Piece piece;
            do {
                piece = next();
                pieces.put(piece);
            } while (piece.length > 0);
        } catch (InterruptedException e) {
            // The reader has closed and wants no more.
        }
    }

    private Piece next() {
        byte[] bytes = used.poll();
        if (bytes == null) {
            bytes = new byte[ArchiveFormat.CHUNK];
        }
        int length = 0;
        try {
            int read = 0;
            while (failure == null && read >= 0 && length < bytes.length) {
                length += read;
                read = in.read(bytes, length, bytes.length - length);
            }
        } catch (IOException | RuntimeException e) {
            failure = e;
        }
        return new Piece(bytes, length, failure);
    }

    private boolean fill() throws IOException {
        if (current != null && at < current.length) {
            return true;
        }
        if (current == null || current.length > 0) {
            take();
        }
        if (current.length == 0 && current.failure instanceof ImageException reason) {
            throw reason;
        }
        if (current.length == 0 && current.failure != null) {
            throw new IOException(current.failure);
        }
        return current.length > 0;
    }

    private void take() throws IOException {
        if (current != null && used.remainingCapacity() > 0) {
            used.add(current.bytes);
        }
        try {
            current = pieces.take();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new InterruptedIOException("interrupted");
        }
        at = 0;
    }

    @Override
    public int read() throws IOException {
        return fill() ? current.bytes[at++] & 0xff : -1;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        if (!fill()) {
            return -1;
        }
        int size = Math.min(length, current.length - at);
        System.arraycopy(current.bytes, at, bytes, offset, size);
        at += size;
        return size;
    }

    @Override
    public void close() throws IOException {
        thread.interrupt();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                // The stream below must not be closed under the thread's hands.
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
        in.close();
    }
}
