package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.host.LibC;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.DirectoryIteratorException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Deletes images that are not needed any more, in the background: deleting gigabytes takes a while, and a resumed stage
 * must not wait for it.
 *
 * <ol>
 *   <li>The folder gets another name beside the old one at once, so that it is not taken for an image.
 *   <li>One thread of this JVM deletes such folders, at the lowest CPU and I/O priority; it ends when there are none.
 *   <li>What a JVM did not come to delete is deleted with the next image of the stage, or with the stage's folder.
 * </ol>
 *
 * Safe for any thread.
 */
public final class OldImages {

    private static final Logger LOG = Logger.getLogger(OldImages.class.getName());
    private static final String MARK = ".old-";
    private static final ThreadPoolExecutor DELETING =
            new ThreadPoolExecutor(1, 1, 5, TimeUnit.SECONDS, new LinkedBlockingQueue<>(), OldImages::thread);

    static {
        DELETING.allowCoreThreadTimeOut(true);
    }

    private OldImages() {}

    private static Thread thread(Runnable deletions) {
        Thread thread = new Thread(
                () -> {
                    LibC.idleThread();
                    deletions.run();
                },
                "preemptible: deletes old images");
        thread.setDaemon(true);
        return thread;
    }

    /** Has a folder deleted; it is gone from its place on return. Without effect when it is not there. */
    public static void discard(Path folder) {
        if (!Files.exists(folder)) {
            return;
        }
        try {
            Files.move(folder, folder.resolveSibling(folder.getFileName() + MARK + System.nanoTime()));
        } catch (IOException e) {
            LOG.log(Level.FINE, e, () -> folder + " cannot be renamed and is deleted at once");
            deleteQuietly(folder);
            return;
        }
        DELETING.execute(
                () -> deleteAll(folder.getParent(), folder.getFileName().toString()));
    }

    /** Has a deletion of the caller's own done in the same way. */
    public static void later(Runnable deletion) {
        DELETING.execute(deletion);
    }

    /** Deletes a folder, or leaves it to the next call: it does no harm. Without effect for null. */
    public static void deleteQuietly(Path folder) {
        try {
            if (folder != null) {
                StageFolder.delete(folder);
            }
        } catch (IOException e) {
            // Left for the next call: it does no harm.
        }
    }

    // Those of an earlier JVM too.
    private static void deleteAll(Path parent, String family) {
        try (DirectoryStream<Path> old = Files.newDirectoryStream(parent, path -> isOld(path, family))) {
            for (Path each : old) {
                StageFolder.delete(each);
            }
        } catch (IOException | DirectoryIteratorException e) {
            LOG.log(Level.FINE, e, () -> "old folders in " + parent + " are left to the next time");
        }
    }

    private static boolean isOld(Path path, String family) {
        String name = path.getFileName().toString();
        return name.startsWith(family) && name.indexOf(MARK, family.length()) >= 0;
    }

    /** Waits until nothing is left to delete, for a JVM that ends: a minute at most. */
    public static void finish() {
        DELETING.shutdown();
        try {
            DELETING.awaitTermination(1, TimeUnit.MINUTES);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
