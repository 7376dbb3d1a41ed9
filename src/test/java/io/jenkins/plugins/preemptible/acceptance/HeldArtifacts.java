package io.jenkins.plugins.preemptible.acceptance;

import hudson.FilePath;
import hudson.Launcher;
import hudson.model.BuildListener;
import hudson.model.Run;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.atomic.AtomicInteger;
import jenkins.model.ArtifactManager;
import jenkins.model.ArtifactManagerConfiguration;
import jenkins.model.ArtifactManagerFactory;
import jenkins.model.StandardArtifactManager;
import jenkins.util.VirtualFile;

/**
 * Jenkins' own archive, with a door before the images of stages.
 *
 * <ol>
 *   <li>While it is {@link #shut}, what archives or fetches an image waits: so a test is in the middle of a sealing
 *       or of a restore as long as it likes.
 *   <li>While it is {@link #full}, archiving one fails; while it is {@link #broken}, whatever is asked of it does, as
 *       the libraries of a store that is away do.
 *   <li>{@link #open} ends both, and what waited continues; {@link #install} ends both too, and what waited, in a controller
 *       that is gone, is given up.
 * </ol>
 */
public final class HeldArtifacts extends ArtifactManagerFactory {

    private static final Object DOOR = new Object();
    private static final AtomicInteger WAITING = new AtomicInteger();
    private static boolean shut;
    private static int generation;
    private static volatile boolean full;
    private static volatile boolean broken;

    /** Takes the place of the standard archive for the builds that begin from now on. */
    static void install() {
        if (ArtifactManagerConfiguration.get().getArtifactManagerFactories().isEmpty()) {
            ArtifactManagerConfiguration.get().getArtifactManagerFactories().add(new HeldArtifacts());
        }
        synchronized (DOOR) {
            generation++;
        }
        open();
    }

    static void shut() {
        synchronized (DOOR) {
            shut = true;
        }
    }

    static void full() {
        full = true;
    }

    static void broken() {
        broken = true;
    }

    /** Opens the door only: what fails, fails on. */
    static void letIn() {
        synchronized (DOOR) {
            shut = false;
            DOOR.notifyAll();
        }
    }

    static void open() {
        full = false;
        broken = false;
        synchronized (DOOR) {
            shut = false;
            DOOR.notifyAll();
        }
    }

    /** How many wait at the door. */
    static int waiting() {
        return WAITING.get();
    }

    private static void pass() throws InterruptedException {
        WAITING.incrementAndGet();
        try {
            synchronized (DOOR) {
                int then = generation;
                while (shut) {
                    DOOR.wait();
                }
                if (then != generation) {
                    throw new InterruptedException("the controller is gone");
                }
            }
        } finally {
            WAITING.decrementAndGet();
        }
    }

    @Override
    public ArtifactManager managerFor(Run<?, ?> build) {
        return new Held(build);
    }

    /** Of one build. */
    public static final class Held extends StandardArtifactManager {

        Held(Run<?, ?> build) {
            super(build);
        }

        @Override
        public void archive(
                FilePath workspace, Launcher launcher, BuildListener listener, Map<String, String> artifacts)
                throws IOException, InterruptedException {
            if (artifacts.keySet().stream().anyMatch(path -> path.startsWith("preemptible/"))) {
                if (full) {
                    throw new IOException("the archive of this test is full");
                }
                pass();
                refuseIfBroken();
            }
            super.archive(workspace, launcher, listener, artifacts);
        }

        /** Only what fetches an image waits, not what lists or removes artifacts. */
        @Override
        public VirtualFile root() {
            if (fetching()) {
                try {
                    pass();
                } catch (InterruptedException x) {
                    throw new IllegalStateException(x);
                }
            }
            refuseIfBroken();
            return super.root();
        }

        private static void refuseIfBroken() {
            if (broken) {
                throw new IllegalStateException("the store of this test is away");
            }
        }

        private static boolean fetching() {
            return StackWalker.getInstance()
                    .walk(frames ->
                            frames.anyMatch(frame -> frame.getMethodName().equals("fetch")));
        }
    }
}
