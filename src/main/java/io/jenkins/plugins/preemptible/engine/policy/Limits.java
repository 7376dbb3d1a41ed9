package io.jenkins.plugins.preemptible.engine.policy;

import java.util.List;
import java.util.Objects;

/**
 * What the administrator allows.
 *
 * <ol>
 *   <li>Part of every {@link Snapshot}: the decision takes nothing from anywhere else.
 *   <li>0 stands for "no limit" throughout, and times are milliseconds.
 *   <li>Each {@code with…} gives a copy in which one of them differs.
 * </ol>
 *
 * @param enabled false: nothing is suspended, for a drain neither; what is suspended may still go on
 * @param slices after how long a stage gives way to its equals
 * @param exemptMillis shortest undisturbed run after a start or a resume
 * @param mostSuspensions of one stage
 * @param mostSuspendedPerAgent stages whose memory or image one agent holds at the same time
 * @param mostSuspended the same in all
 * @param ageingMillis for each such time that a suspended stage has waited, its claim counts as one priority higher
 * @param imageBytes a stage with more resident memory is not suspended
 * @param memoryFloorBytes free memory that an agent keeps beside a stage that stays frozen in it
 * @param undumpable what becomes of stages that cannot be dumped
 * @param undisturbed hours in which long stages are left alone; null = none
 * @param freezeOnly heeded where {@code undumpable} says so
 * @throws IllegalArgumentException when a number is negative
 */
public record Limits(
        boolean enabled,
        Slices slices,
        long exemptMillis,
        int mostSuspensions,
        int mostSuspendedPerAgent,
        int mostSuspended,
        long ageingMillis,
        long imageBytes,
        long memoryFloorBytes,
        UndumpableStages undumpable,
        Undisturbed undisturbed,
        FreezeOnly freezeOnly) {

    public Limits {
        Objects.requireNonNull(slices);
        Objects.requireNonNull(undumpable);
        Objects.requireNonNull(freezeOnly);
        Snapshot.notNegative("shortest undisturbed run", exemptMillis);
        Snapshot.notNegative("most suspensions", mostSuspensions);
        Snapshot.notNegative("most suspended stages of an agent", mostSuspendedPerAgent);
        Snapshot.notNegative("most suspended stages", mostSuspended);
        Snapshot.notNegative("ageing time", ageingMillis);
        Snapshot.notNegative("largest image", imageBytes);
        Snapshot.notNegative("memory floor", memoryFloorBytes);
    }

    /** With the defaults for what is only frozen. */
    public Limits(
            boolean enabled,
            Slices slices,
            long exemptMillis,
            int mostSuspensions,
            int mostSuspendedPerAgent,
            int mostSuspended,
            long ageingMillis,
            long imageBytes,
            long memoryFloorBytes,
            UndumpableStages undumpable,
            Undisturbed undisturbed) {
        this(
                enabled,
                slices,
                exemptMillis,
                mostSuspensions,
                mostSuspendedPerAgent,
                mostSuspended,
                ageingMillis,
                imageBytes,
                memoryFloorBytes,
                undumpable,
                undisturbed,
                FreezeOnly.DEFAULT);
    }

    /** Nothing is limited but by these. */
    public Limits(boolean enabled, long timeSliceMillis, long exemptMillis, int mostSuspensions) {
        this(
                enabled,
                new Slices(timeSliceMillis, List.of()),
                exemptMillis,
                mostSuspensions,
                0,
                0,
                0,
                0,
                0,
                UndumpableStages.WAIT,
                null);
    }

    public Limits withSlices(Slices other) {
        return new Limits(
                enabled,
                other,
                exemptMillis,
                mostSuspensions,
                mostSuspendedPerAgent,
                mostSuspended,
                ageingMillis,
                imageBytes,
                memoryFloorBytes,
                undumpable,
                undisturbed,
                freezeOnly);
    }

    public Limits withMostSuspended(int perAgent, int inAll) {
        return new Limits(
                enabled,
                slices,
                exemptMillis,
                mostSuspensions,
                perAgent,
                inAll,
                ageingMillis,
                imageBytes,
                memoryFloorBytes,
                undumpable,
                undisturbed,
                freezeOnly);
    }

    public Limits withAgeing(long millis) {
        return new Limits(
                enabled,
                slices,
                exemptMillis,
                mostSuspensions,
                mostSuspendedPerAgent,
                mostSuspended,
                millis,
                imageBytes,
                memoryFloorBytes,
                undumpable,
                undisturbed,
                freezeOnly);
    }

    public Limits withMemory(long largestImageBytes, long floorBytes) {
        return new Limits(
                enabled,
                slices,
                exemptMillis,
                mostSuspensions,
                mostSuspendedPerAgent,
                mostSuspended,
                ageingMillis,
                largestImageBytes,
                floorBytes,
                undumpable,
                undisturbed,
                freezeOnly);
    }

    public Limits withUndumpable(UndumpableStages choice) {
        return new Limits(
                enabled,
                slices,
                exemptMillis,
                mostSuspensions,
                mostSuspendedPerAgent,
                mostSuspended,
                ageingMillis,
                imageBytes,
                memoryFloorBytes,
                choice,
                undisturbed,
                freezeOnly);
    }

    public Limits withFreezeOnly(FreezeOnly other) {
        return new Limits(
                enabled,
                slices,
                exemptMillis,
                mostSuspensions,
                mostSuspendedPerAgent,
                mostSuspended,
                ageingMillis,
                imageBytes,
                memoryFloorBytes,
                undumpable,
                undisturbed,
                other);
    }
}
