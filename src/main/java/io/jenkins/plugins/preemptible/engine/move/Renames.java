package io.jenkins.plugins.preemptible.engine.move;

import io.jenkins.plugins.preemptible.engine.image.preserved.OpenFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.StandardCopyOption;

/** What a kernel and its file systems can do with two names; the last of the three they can always. */
interface Renames {

    /** Those of the host. */
    Renames KERNEL = new Renames() {
        @Override
        public boolean exchange(OpenFolder from, String name, OpenFolder to, String other) throws IOException {
            return from.exchange(name, to, other);
        }

        @Override
        public boolean moveToFree(OpenFolder from, String name, OpenFolder to, String other) throws IOException {
            return from.moveToFree(name, to, other);
        }

        @Override
        public void move(OpenFolder from, String name, OpenFolder to, String other) throws IOException {
            Files.move(from.at(name), to.at(other), StandardCopyOption.ATOMIC_MOVE);
        }
    };

    /** See {@link OpenFolder#exchange}. */
    boolean exchange(OpenFolder from, String name, OpenFolder to, String other) throws IOException;

    /** See {@link OpenFolder#moveToFree}. */
    boolean moveToFree(OpenFolder from, String name, OpenFolder to, String other) throws IOException;

    /** As rename(2): a folder takes the place of an empty one, and of nothing else. */
    void move(OpenFolder from, String name, OpenFolder to, String other) throws IOException;
}
