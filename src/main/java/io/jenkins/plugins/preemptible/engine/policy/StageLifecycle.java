package io.jenkins.plugins.preemptible.engine.policy;

import java.util.Map;

/**
 * The life of a preemptible stage, as one table.
 *
 * <ol>
 *   <li>A stage begins RUNNING; ENDED and FAILED are final.
 *   <li>{@link #next} gives the state that follows, or says that there is no such transition.
 *   <li>The caller persists the next state before it begins the effect that leads there.
 * </ol>
 *
 * <table>
 * <caption>Transitions; an empty cell has none</caption>
 * <tr><th>event</th><th>RUNNING</th><th>SUSPENDING</th><th>SUSPENDED</th><th>RESUMING</th></tr>
 * <tr><td>SUSPEND_REQUESTED</td><td>SUSPENDING</td><td></td><td></td><td></td></tr>
 * <tr><td>FROZEN</td><td></td><td>SUSPENDED (no image exists yet)</td><td></td><td></td></tr>
 * <tr><td>DUMPED</td><td></td><td>SUSPENDED</td><td>SUSPENDED (the image of a frozen one is safe)</td><td></td></tr>
 * <tr><td>DUMP_FAILED</td><td></td><td>RUNNING</td><td></td><td></td></tr>
 * <tr><td>RESUME_REQUESTED</td><td></td><td></td><td>RESUMING</td><td></td></tr>
 * <tr><td>RESTORED</td><td></td><td></td><td></td><td>RUNNING</td></tr>
 * <tr><td>RESTORE_FAILED</td><td></td><td></td><td></td><td>SUSPENDED (the image is kept)</td></tr>
 * <tr><td>ROLLED_BACK</td><td>SUSPENDED (its processes are lost, its checkpoint is not)</td><td>SUSPENDED</td>
 * <td>SUSPENDED</td><td>SUSPENDED</td></tr>
 * <tr><td>EXITED</td><td>ENDED</td><td>ENDED (it ended before the freeze)</td><td></td><td>ENDED (at once after
 * the restore)</td></tr>
 * <tr><td>ABORTED</td><td>FAILED</td><td>FAILED</td><td>FAILED</td><td>FAILED</td></tr>
 * </table>
 *
 * Pure, safe for any thread.
 */
public final class StageLifecycle {

    /** Where a stage is in its life. */
    public enum StageState {
        /** It has an executor and its processes run. */
        RUNNING,
        /** It is being frozen; or it is frozen and being dumped, and keeps its executor until the image is safe. */
        SUSPENDING,
        /** It has no executor: it is frozen, or it has an image and no processes. */
        SUSPENDED,
        /** It is being restored, or waits in the queue for the executor on which it will be. */
        RESUMING,
        /** Its last process is gone. Final. */
        ENDED,
        /** It was aborted or lost. Final. */
        FAILED;

        /** True when nothing follows. */
        public boolean isFinal() {
            return this == ENDED || this == FAILED;
        }
    }

    /** What can happen to a stage. */
    public enum Event {
        SUSPEND_REQUESTED,
        FROZEN,
        DUMPED,
        DUMP_FAILED,
        RESUME_REQUESTED,
        RESTORED,
        RESTORE_FAILED,
        ROLLED_BACK,
        EXITED,
        ABORTED
    }

    private static final Map<StageState, Map<Event, StageState>> TABLE = Map.of(
            StageState.RUNNING,
                    Map.of(
                            Event.SUSPEND_REQUESTED, StageState.SUSPENDING,
                            Event.ROLLED_BACK, StageState.SUSPENDED,
                            Event.EXITED, StageState.ENDED,
                            Event.ABORTED, StageState.FAILED),
            StageState.SUSPENDING,
                    Map.of(
                            Event.FROZEN, StageState.SUSPENDED,
                            Event.DUMPED, StageState.SUSPENDED,
                            Event.DUMP_FAILED, StageState.RUNNING,
                            Event.ROLLED_BACK, StageState.SUSPENDED,
                            Event.EXITED, StageState.ENDED,
                            Event.ABORTED, StageState.FAILED),
            StageState.SUSPENDED,
                    Map.of(
                            Event.DUMPED, StageState.SUSPENDED,
                            Event.RESUME_REQUESTED, StageState.RESUMING,
                            Event.ROLLED_BACK, StageState.SUSPENDED,
                            Event.ABORTED, StageState.FAILED),
            StageState.RESUMING,
                    Map.of(
                            Event.RESTORED, StageState.RUNNING,
                            Event.RESTORE_FAILED, StageState.SUSPENDED,
                            Event.ROLLED_BACK, StageState.SUSPENDED,
                            Event.EXITED, StageState.ENDED,
                            Event.ABORTED, StageState.FAILED),
            StageState.ENDED, Map.of(),
            StageState.FAILED, Map.of());

    private StageLifecycle() {}

    /**
     * The state that follows.
     *
     * @throws IllegalStateException when the table has no such transition; the message is for people
     */
    public static StageState next(StageState state, Event event) {
        StageState next = TABLE.get(state).get(event);
        if (next == null) {
            throw new IllegalStateException("A stage that is " + state + " cannot take " + event
                    + (state.isFinal()
                            ? ": nothing follows that state"
                            : ": expected is one of "
                                    + new java.util.TreeSet<>(TABLE.get(state).keySet())));
        }
        return next;
    }
}
