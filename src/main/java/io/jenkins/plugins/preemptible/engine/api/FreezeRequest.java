package io.jenkins.plugins.preemptible.engine.api;

/**
 * Conditions of a freeze.
 *
 * <ol>
 *   <li>{@code guard} is asked once, while the tree is frozen; an objection thaws it again.
 *   <li>{@code memoryFloorBytes} is what the preemptor needs beside the frozen stage: with less free memory on the host
 *       (or its group), the executor is given away after the dump only.
 *   <li>With 0 the memory is not checked: the executor is always free from the freeze on.
 * </ol>
 *
 * @param mustNotRun its executor is gone already: it is frozen in spite of obstacles, and a refusal leaves it
 *     frozen, and an image that was made of it before, but not committed, is forgotten
 * @param frozenOnlyBytes with how much memory at most a stage that cannot be dumped is frozen all the same; 0 = with none
 */
public record FreezeRequest(DumpGuard guard, long memoryFloorBytes, boolean mustNotRun, long frozenOnlyBytes) {

    /** 1 GiB. */
    public static final long DEFAULT_MEMORY_FLOOR = 1L << 30;

    /**
     * @throws IllegalArgumentException when the guard is missing or a number is negative
     */
    public FreezeRequest {
        if (guard == null || memoryFloorBytes < 0 || frozenOnlyBytes < 0) {
            throw new IllegalArgumentException("a freeze needs a guard and a memory floor of 0 bytes or more");
        }
    }

    /** Of one that can be dumped. */
    public FreezeRequest(DumpGuard guard, long memoryFloorBytes, boolean mustNotRun) {
        this(guard, memoryFloorBytes, mustNotRun, 0);
    }

    /** The same, with so much memory at most also where the stage cannot be dumped. */
    public FreezeRequest orFrozenOnly(long mostBytes) {
        return new FreezeRequest(guard, memoryFloorBytes, mustNotRun, mostBytes);
    }

    /** Of a stage that may run. */
    public FreezeRequest(DumpGuard guard, long memoryFloorBytes) {
        this(guard, memoryFloorBytes, false);
    }

    /** Of a stage that must not run. */
    public static FreezeRequest ofSuspended() {
        return new FreezeRequest(DumpGuard.NONE, 0, true);
    }

    /** No guard, the default floor. */
    public static FreezeRequest plain() {
        return new FreezeRequest(DumpGuard.NONE, DEFAULT_MEMORY_FLOOR);
    }
}
