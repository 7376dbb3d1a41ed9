package io.jenkins.plugins.preemptible.agent;

import hudson.FilePath;
import java.io.IOException;
import java.io.InputStream;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.BooleanSupplier;

/**
 * Brings a file to an agent, piece by piece: each is a call that ends when the connection does.
 *
 * <p>A stream of Jenkins' remoting ({@code FilePath.copyFrom}) waits for ever where the agent goes away before it has taken what
 * was sent. Of no state; blocking.
 */
public final class Delivery {

    private Delivery() {}

    /**
     * Writes all of the stream into that file, which is made or replaced.
     *
     * @param wanted asked for each piece; nothing more comes once it is false
     * @throws NoRoomException when the agent's disk is full
     * @throws IOException when the agent is away, does not take a piece in time, or cannot write it
     */
    public static void bring(InputStream from, FilePath to, BooleanSupplier wanted)
            throws IOException, InterruptedException {
        bring(() -> wanted.getAsBoolean() ? from.readNBytes(PiecesInOrder.PIECE) : new byte[0], to);
    }

    /** The agent's disk is full; nothing of the file is left there. */
    public static final class NoRoomException extends IOException {
        private static final long serialVersionUID = 1L;

        NoRoomException(FilePath to) {
            super("the agent's disk has no room for " + to.getName() + ". Make room below its root folder");
        }
    }

    /** The next piece of a file; none at its end. */
    @FunctionalInterface
    public interface Next {
        byte[] take() throws IOException, InterruptedException;
    }

    /** The same of pieces that come one by one, of at most {@link PiecesInOrder#PIECE} bytes. */
    public static void bring(Next from, FilePath to) throws IOException, InterruptedException {
        byte[] piece = from.take();
        // Waited for: the others cannot make the file, so none of them comes after the agent was cleaned.
        end(Limited.ask(to, Boolean.class, new WritePiece(0, piece)), to);
        Deque<Awaited<Boolean>> written = new ArrayDeque<>();
        try {
            long offset = piece.length;
            for (piece = from.take(); piece.length > 0; piece = from.take()) {
                if (written.size() == PiecesInOrder.AHEAD) {
                    end(written.remove(), to);
                }
                written.add(Limited.ask(to, Boolean.class, new WritePiece(offset, piece)));
                offset += piece.length;
            }
            while (!written.isEmpty()) {
                end(written.remove(), to);
            }
        } finally {
            written.forEach(Awaited::giveUp);
        }
    }

    private static void end(Awaited<Boolean> written, FilePath to) throws IOException, InterruptedException {
        try {
            if (!Limited.required(written.get())) {
                throw new NoRoomException(to);
            }
        } catch (Limited.VerbFailedException x) {
            throw new IOException(x.getMessage(), x);
        }
    }
}
