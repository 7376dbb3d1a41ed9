package io.jenkins.plugins.preemptible.engine.image.archive;

import io.jenkins.plugins.preemptible.engine.image.Arrival;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.util.function.BooleanSupplier;

/** Reads an archive as it arrives, up to its tail: a reader waits until there is more. */
final class ArrivingInput extends InputStream {

    private final FileChannel file;
    private final Arrival arrival;
    private final BooleanSupplier cancelled;
    private long position;
    private Arrival.Reach reach = new Arrival.Reach(0, false);

    ArrivingInput(FileChannel file, long position, Arrival arrival, BooleanSupplier cancelled) {
        this.file = file;
        this.position = position;
        this.arrival = arrival;
        this.cancelled = cancelled;
    }

    @Override
    public int read() throws IOException {
        byte[] one = new byte[1];
        return read(one, 0, 1) < 0 ? -1 : one[0] & 0xff;
    }

    @Override
    public int read(byte[] bytes, int offset, int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        if (position >= CipherWarmUp.WORTH_BYTES) {
            CipherWarmUp.await();
        }
        if (reach.bytes() <= position && !reach.whole()) {
            reach = arrival.beyond(position, file, cancelled);
        }
        int wanted = (int) Math.min(length, reach.bytes() - position);
        int read = wanted <= 0 ? -1 : file.read(ByteBuffer.wrap(bytes, offset, wanted), position);
        position += Math.max(0, read);
        return read;
    }
}
