package io.jenkins.plugins.preemptible.lifecycle;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.util.Secret;
import io.jenkins.plugins.preemptible.agent.AgentStage;
import io.jenkins.plugins.preemptible.agent.StageAgent;
import io.jenkins.plugins.preemptible.event.StageListener;
import io.jenkins.plugins.preemptible.lifecycle.image.ArchiveRoom;
import io.jenkins.plugins.preemptible.lifecycle.stage.SealedLuggage;
import io.jenkins.plugins.preemptible.lifecycle.stage.StageRecord;
import java.io.IOException;
import java.util.List;
import java.util.function.Consumer;

/** What the making of one image touches besides the stage's record: its build and the controller's disk. {@link JenkinsSealSide} is the real one. */
interface SealSide {

    /** Ends when the image is made. */
    interface Progress extends AutoCloseable {
        @Override
        void close();
    }

    /** Whether the agent of that name is connected. */
    boolean isThere(String node);

    /** A new key that nobody else has. */
    Secret newKey();

    /** Whether the stage, or a user, waits for the image: nobody else is to have the processors of its agent. */
    default boolean isAwaited(StageRecord stage) {
        return false;
    }

    /** By when a stage that its agent has kept is to run again, in milliseconds since 1970; 0 when it can be dumped. */
    default long thawByMillis(StageRecord stage) {
        return 0;
    }

    /** Says how far the image has come, until it is closed. */
    Progress progress(StageRecord stage);

    /** Why an image of so many bytes is not stored, a sentence; null when it may be. */
    @CheckForNull
    String tooLarge(long bytes);

    /**
     * What is missing on the disk for an image of so many bytes; null when nothing is. What was brought of it ahead counts as
     * room, and is given up where there is too little.
     *
     * @param bytes 0 when the size is not known
     */
    @CheckForNull
    ArchiveRoom.Shortage shortage(long bytes) throws IOException, InterruptedException;

    /** Has the agent dump and seal the stage; {@link #store} may begin meanwhile. */
    default AgentStage.Dump dump(StageAgent agent, String key, boolean awaited)
            throws IOException, InterruptedException {
        return agent.dump(key, true, awaited).get();
    }

    /**
     * Stores the image that was made last.
     *
     * @throws ArchiveRoom.ShortageException when the disk gets full meanwhile
     * @throws IOException when it is not stored; nothing of it is kept then
     */
    void store(StageAgent agent, long bytes) throws IOException, InterruptedException;

    /** The workspace of a frozen stage; it is packed while the image is stored, or made where that is awaited. */
    interface Luggage extends AutoCloseable {
        /**
         * Waits until it is packed, and stores it.
         *
         * @return null where it is not stored
         * @throws IOException when the agent does not answer
         */
        @CheckForNull
        SealedLuggage store() throws IOException, InterruptedException;

        /** Ends the packing, unless it has ended. */
        @Override
        void close();

        /** Of a stage that cannot be resumed without its agent. */
        Luggage NONE = new Luggage() {
            @Override
            public SealedLuggage store() {
                return null;
            }

            @Override
            public void close() {}
        };
    }

    /**
     * Begins to pack the workspace of the frozen stage, where it could be resumed on another agent.
     *
     * @throws IOException when the agent does not answer
     */
    default Luggage packLuggage(StageRecord stage) throws IOException, InterruptedException {
        return Luggage.NONE;
    }

    /**
     * Removes what was packed from the agent, whose frozen processes are gone already; whatever fails, nothing depends on it.
     *
     * @param taken whether what is stored of it is the stage's; else that is removed, too
     */
    default void dropLuggage(StageRecord stage, boolean taken) throws InterruptedException {}

    /** Removes what was brought of an image that is not going to be stored. */
    default void close() {}

    /** Why {@link #store} failed, for the build log. */
    String why(Exception failure);

    /** Removes what was stored; whatever fails, nothing depends on it. */
    void discard() throws InterruptedException;

    /** Writes a line into the build log. */
    void say(String line);

    /** Writes a refusal into the build log, with CRIU's own lines below it. */
    void say(String line, List<String> criuLines);

    /** Says once a build what a restart of the agent's host would lose. */
    void sayInMemoryOnly(String agent) throws InterruptedException;

    /** Shows in the Pipeline's views what is kept of the stage now. */
    void showSealed(StageRecord stage);

    /** Notes how fast an image was made on that agent. */
    void measured(String node, long bytes, long millis);

    /**
     * The processes of the frozen stage are gone: ends it, unless it goes back to an earlier state.
     *
     * @throws IOException when that is not known yet
     */
    void lost() throws IOException, InterruptedException;

    /** The agent is back, with the processes of a stage that went back to an earlier state: it keeps these. */
    void kept(StageRecord stage) throws InterruptedException;

    /** Tells the listeners of stages. */
    void tell(Consumer<StageListener> event);
}
