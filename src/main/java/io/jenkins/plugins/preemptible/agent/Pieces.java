package io.jenkins.plugins.preemptible.agent;

import java.io.IOException;

/** A file on an agent, which is asked for piece by piece. */
@FunctionalInterface
public interface Pieces {

    /**
     * Asks for a piece; several may be on their way.
     *
     * @param most bytes, at least 1
     * @return the bytes asked for; fewer at the end of the file, none behind it
     * @throws IOException when the agent is away
     */
    Awaited<byte[]> ask(long offset, int most) throws IOException, InterruptedException;
}
