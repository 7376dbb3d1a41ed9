package io.jenkins.plugins.preemptible.engine.move;

import io.jenkins.plugins.preemptible.engine.image.preserved.OpenFolder;
import java.io.IOException;
import java.util.concurrent.CountDownLatch;

/** Goes as far as it is told, and then stands still until it may go on: as if its process had been killed there. */
final class StoppedRenames implements Renames {

    private final boolean exchanges;
    private final CountDownLatch stopped = new CountDownLatch(1);
    private final CountDownLatch mayGoOn = new CountDownLatch(1);
    private int left;

    /**
     * @param exchanges whether the file system can
     * @param steps how many are done
     */
    StoppedRenames(boolean exchanges, int steps) {
        this.exchanges = exchanges;
        this.left = steps;
    }

    void awaitStop() throws InterruptedException {
        stopped.await();
    }

    void goOn() {
        mayGoOn.countDown();
    }

    private void before() {
        if (left == 0) {
            stopHere();
        }
    }

    private void after() {
        // The last step of all has none after it.
        if (--left == 0) {
            stopHere();
        }
    }

    private void stopHere() {
        stopped.countDown();
        try {
            mayGoOn.await();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public boolean exchange(OpenFolder from, String name, OpenFolder to, String other) throws IOException {
        if (!exchanges) {
            return false;
        }
        before();
        boolean done = from.exchange(name, to, other);
        after();
        return done;
    }

    @Override
    public boolean moveToFree(OpenFolder from, String name, OpenFolder to, String other) throws IOException {
        if (!exchanges) {
            return false;
        }
        before();
        boolean done = from.moveToFree(name, to, other);
        after();
        return done;
    }

    @Override
    public void move(OpenFolder from, String name, OpenFolder to, String other) throws IOException {
        before();
        Renames.KERNEL.move(from, name, to, other);
        after();
    }
}
