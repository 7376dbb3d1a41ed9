package io.jenkins.plugins.preemptible.engine.image;

import java.io.IOException;
import java.nio.file.Path;

/** Seals the files of a CRIU image into one archive, and opens it again. */
public final class ImageArchive {

    /** The format that this version writes, and the only one that it reads. */
    public static final int FORMAT_VERSION = 1;

    private ImageArchive() {}

    /** What was written: bytes before compression, bytes of the archive, milliseconds it took. */
    public record Written(long imageBytes, long archiveBytes, long millis) {}

    public static Written write(Path imageDir, Path archive, ImageKey key, ImageManifest manifest)
            throws ImageException {
        throw new UnsupportedOperationException();
    }

    public static ImageManifest read(Path archive, ImageKey key, Path intoDir) throws ImageException {
        throw new UnsupportedOperationException();
    }

    public static ImageInspection inspect(Path archive, ImageKey key) throws ImageException {
        throw new UnsupportedOperationException();
    }

    static String words(IOException e) {
        return e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
    }
}
