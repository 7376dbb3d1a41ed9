package io.jenkins.plugins.preemptible.lifecycle.stage;

/** What time it is, for the steps. Any thread. */
public interface StageClock {

    StageClock SYSTEM = new StageClock() {
        @Override
        public long nowMillis() {
            return System.currentTimeMillis();
        }

        @Override
        public long nanoTime() {
            return System.nanoTime();
        }
    };

    /** In milliseconds since 1970. */
    long nowMillis();

    /** Monotonic: unaffected by changes of the system clock. */
    long nanoTime();
}
