package io.jenkins.plugins.preemptible.engine.image.archive;

import com.github.luben.zstd.Zstd;
import com.github.luben.zstd.ZstdCompressCtx;
import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import java.io.IOException;
import java.io.OutputStream;
import java.util.ArrayDeque;
import java.util.Arrays;
import java.util.Deque;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;

/**
 * Compresses a stream in pieces that need nothing of each other, several at a time.
 *
 * <ol>
 *   <li>Each MiB that is written becomes one zstd frame; frames follow each other, which RFC 8878 allows.
 *   <li>Workers compress, and the writing thread takes the frames in order and hands them on: it encrypts.
 *   <li>Buffers are used again, so a stream of any length takes a few of them.
 * </ol>
 *
 * zstd's own threads are not used: they hand over through one stream, and at its fast levels copying there costs more
 * than compressing. Level -1: half the time of level 1 at the same size on half-random pages.
 */
final class FrameOutput extends OutputStream {

    private static final int LEVEL = -1;

    private final OutputStream out;
    private final Workers.Line<Frame> line;
    private final Deque<byte[]> plain = new ArrayDeque<>();
    /** Workers take from it. */
    private final Queue<byte[]> packed = new ConcurrentLinkedQueue<>();

    private byte[] buffer = new byte[ArchiveFormat.CHUNK];
    private int filled;

    private record Frame(byte[] plain, byte[] bytes, int length) {}

    FrameOutput(OutputStream out, Workers workers) {
        this.out = out;
        this.line = workers.inOrder(this::take);
    }

    private void take(Frame frame) throws IOException {
        out.write(frame.bytes, 0, frame.length);
        plain.add(frame.plain);
        packed.add(frame.bytes);
    }

    private Frame compress(byte[] plain, int length) {
        byte[] used = packed.poll();
        byte[] bytes = used == null ? new byte[(int) Zstd.compressBound(ArchiveFormat.CHUNK)] : used;
        try (ZstdCompressCtx context = new ZstdCompressCtx()) {
            context.setLevel(LEVEL);
            int size = context.compressByteArray(bytes, 0, bytes.length, plain, 0, length);
            return new Frame(plain, bytes, size);
        }
    }

    @Override
    public void write(int b) throws IOException {
        write(new byte[] {(byte) b}, 0, 1);
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        int at = offset;
        int left = length;
        while (left > 0) {
            int size = Math.min(left, buffer.length - filled);
            System.arraycopy(bytes, at, buffer, filled, size);
            filled += size;
            at += size;
            left -= size;
            if (filled == buffer.length) {
                send();
            }
        }
    }

    private void send() throws IOException {
        if (filled == 0) {
            return;
        }
        byte[] full = buffer;
        int length = filled;
        line.give(() -> compress(full, length));
        byte[] used = plain.poll();
        buffer = used == null ? new byte[ArchiveFormat.CHUNK] : used;
        filled = 0;
    }

    /** Does not end the current frame: that would cost compression, and there is no reader yet. */
    @Override
    public void flush() {}

    @Override
    public void close() throws IOException {
        send();
        line.finish();
        Arrays.fill(buffer, (byte) 0);
        out.close();
    }
}
