package io.jenkins.plugins.preemptible.agent;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;

/**
 * Takes a file from an agent in pieces, one after the other, of which a few are on their way while one is used.
 *
 * <p>Pieces stay below half a region of a small heap under the collector G1, on their way and when they are serialized: larger
 * arrays have regions of their own, and an agent with a heap of 256 MB then collects all along. A move of 500 MB takes 5.0 s of
 * the processors for both agents and the controller with these pieces, 6.4 s and more with a quarter as many of 1 MiB. For one
 * thread.
 */
public final class PiecesInOrder implements AutoCloseable {

    /** Bytes of each, but for the last one: with what is around them less than 256 KiB. */
    public static final int PIECE = 250 << 10;

    /** How many are on their way at a time; so many, and the one that is used, are held in memory. */
    static final int AHEAD = 16;

    private final Pieces source;
    private final long end;
    private final Deque<Awaited<byte[]>> coming = new ArrayDeque<>();
    private long asked;

    /**
     * @param from where the first piece begins
     * @param end of the file
     */
    public PiecesInOrder(Pieces source, long from, long end) {
        this.source = source;
        this.asked = from;
        this.end = end;
    }

    /**
     * The next one, as the agent has sent it: its size is to be checked.
     *
     * @return none at the end
     * @throws IOException when the agent is away, or does not answer in time
     */
    public byte[] next() throws IOException, InterruptedException {
        for (; asked < end && coming.size() < AHEAD; asked += PIECE) {
            coming.add(source.ask(asked, (int) Math.min(PIECE, end - asked)));
        }
        return coming.isEmpty() ? new byte[0] : coming.remove().get();
    }

    /** Those that are still on their way are not wanted any more. */
    @Override
    public void close() {
        coming.forEach(Awaited::giveUp);
        coming.clear();
    }
}
