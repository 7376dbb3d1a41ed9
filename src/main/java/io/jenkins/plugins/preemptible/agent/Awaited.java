package io.jenkins.plugins.preemptible.agent;

import java.io.IOException;

/**
 * An agent's answer that is on its way, so that other work is done meanwhile.
 *
 * <p>Either {@link #get} or {@link #giveUp} has to be called, once; for one thread.
 */
@FunctionalInterface
public interface Awaited<T> {

    /**
     * Waits for it. Null where what was asked may answer that.
     *
     * @throws IOException when the agent is away, does not answer in time, or answers what is not understood
     */
    T get() throws IOException, InterruptedException;

    /** Waits for it at most so long. @return whether {@link #get} would not have to wait then */
    default boolean isThereWithin(long millis) throws InterruptedException {
        return true;
    }

    /** What is made of an answer when it is there. */
    @FunctionalInterface
    interface Then<T, R> {
        R of(T answer) throws IOException, InterruptedException;
    }

    /** The same answer, made into something else. */
    default <R> Awaited<R> then(Then<? super T, R> next) {
        Awaited<T> first = this;
        return new Awaited<>() {
            @Override
            public R get() throws IOException, InterruptedException {
                return next.of(first.get());
            }

            @Override
            public boolean isThereWithin(long millis) throws InterruptedException {
                return first.isThereWithin(millis);
            }

            @Override
            public void giveUp() {
                first.giveUp();
            }
        };
    }

    /** It is not wanted any more. The agent may do all the same what it was asked for. */
    default void giveUp() {}
}
