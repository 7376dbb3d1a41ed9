package io.jenkins.plugins.preemptible.agent;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.LastResort;
import java.io.IOException;
import java.util.List;

/**
 * What the controller asks of the agent that a stage is on: the port between the steps of {@code lifecycle} and a host.
 *
 * <p>{@link AgentStage} is the real one. Refusals are values in the answers; what throws is a connection that was lost or an
 * answer that is none. Each verb blocks.
 */
public interface StageAgent {

    /** Where agents are found. */
    @FunctionalInterface
    interface Agents {
        /**
         * @param node the name of an agent, empty for the built-in node
         * @throws IOException when the agent is offline, or there is none
         */
        StageAgent of(String node, String stageId) throws IOException;

        /** Those of this controller. */
        Agents OF_JENKINS = (node, stageId) -> AgentStage.on(Nodes.named(node), stageId);
    }

    /**
     * Tells in which containers steps of the stage run now, before {@link #freeze}.
     *
     * @param marks variables with their values that each of them was started with
     */
    default void tellContainers(List<ContainerRef> containers, List<String> marks)
            throws IOException, InterruptedException {}

    /**
     * Stops the stage where it is; {@link #dump} or {@link #thaw} must follow, or {@link #resumeHere} where no images are
     * made. Takes the same time at any size.
     *
     * @param controlFolders absolute paths of the durable tasks in flight: one that has its result already stops it,
     *     since its step is about to go on
     * @param memoryFloorBytes with less free memory than that the executor is not free before the image is sealed, and
     *     the freeze is refused where no images are made; 0 = free at once
     */
    AgentStage.Freeze freeze(List<String> controlFolders, long memoryFloorBytes)
            throws IOException, InterruptedException;

    /**
     * The same.
     *
     * @param frozenOnlyBytes with how much memory at most a stage is frozen that cannot be dumped; 0 = it is refused
     */
    default AgentStage.Freeze freeze(List<String> controlFolders, long memoryFloorBytes, long frozenOnlyBytes)
            throws IOException, InterruptedException {
        return freeze(controlFolders, memoryFloorBytes);
    }

    /**
     * Has the frozen stage dumped and sealed; it is frozen afterwards and waits for {@link #commit} or {@link #thaw}.
     *
     * @param stayFrozen whether it stays frozen when that fails, or keeps running
     * @param awaited whether somebody waits for the image; else it is made when nothing else wants a processor of the host,
     *     provided that the executor is free already
     */
    Awaited<AgentStage.Dump> dump(String key, boolean stayFrozen, boolean awaited)
            throws IOException, InterruptedException;

    /**
     * Asks for a piece of the sealed image.
     *
     * @param most bytes, at least 1
     * @return the bytes asked for; fewer at the end of the image, none behind it
     */
    Awaited<byte[]> askImage(long offset, int most) throws IOException, InterruptedException;

    /**
     * Asks for a piece of the image while {@link #dump} is still at it.
     *
     * @param length at least 1
     * @return so many bytes; none where fewer are there
     */
    Awaited<byte[]> askGrowing(long offset, int length) throws IOException, InterruptedException;

    /** The CRC-32C of the first bytes of the sealed image; of all of it where it has no more. */
    long sum(long bytes) throws IOException, InterruptedException;

    /**
     * Kills the frozen tree, once its image is safe; harmless when that was done.
     *
     * @return null when no process of it is left
     */
    @CheckForNull
    AgentStage.NotKilled commit() throws IOException, InterruptedException;

    /** Thaws the frozen tree and drops its image; harmless when it is not frozen. */
    void thaw() throws IOException, InterruptedException;

    /** Freezes a stage that is to be suspended and runs; tells in which form it is held. */
    AgentStage.Held hold() throws IOException, InterruptedException;

    /**
     * Resumes the stage from what is left of it on the agent.
     *
     * @param otherwise with {@link LastResort#NONE}, a dump that cannot be restored is a refusal, and is kept
     * @return null when nothing is left there, or the sealed image has to be brought
     */
    @CheckForNull
    AgentStage.Restore resumeHere(LastResort otherwise) throws IOException, InterruptedException;

    /**
     * Restores the image that the agent has sealed, where its processes are gone and nobody has stored it. It stays on the
     * agent where that fails.
     *
     * @return null when there is none
     */
    @CheckForNull
    default AgentStage.Restore restoreUnstored(String key) throws IOException, InterruptedException {
        return null;
    }

    /** Restores the image that was brought to the agent, and removes that file when the stage runs again. */
    AgentStage.Restore restore(String key) throws IOException, InterruptedException;
}
