package io.jenkins.plugins.preemptible.agent;

import hudson.FilePath;
import java.io.IOException;
import java.io.InputStream;

/**
 * Brings a file to an agent, piece by piece: each is a call that ends when the connection does.
 *
 * <p>A stream of Jenkins' remoting ({@code FilePath.copyFrom}) waits for ever where the agent goes away before it has taken what
 * was sent. Of no state; blocking.
 */
public final class Delivery {

    /** Bytes that are sent at a time. */
    private static final int PIECE = 4 << 20;

    private Delivery() {}

    /**
     * Writes all of the stream into that file, which is made or replaced.
     *
     * @throws IOException when the agent is away, does not take a piece in time, or cannot write it
     */
    public static void bring(InputStream from, FilePath to) throws IOException, InterruptedException {
        long offset = 0;
        byte[] piece = from.readNBytes(PIECE);
        do {
            send(to, offset, piece);
            offset += piece.length;
            piece = from.readNBytes(PIECE);
        } while (piece.length > 0);
    }

    /** @param offset how much of the file is there already; 0 makes or replaces it */
    static void send(FilePath to, long offset, byte[] piece) throws IOException, InterruptedException {
        try {
            Limited.required(Limited.act(to, Boolean.class, new WritePiece(offset, piece)));
        } catch (Limited.VerbFailedException x) {
            throw new IOException(x.getMessage(), x);
        }
    }
}
