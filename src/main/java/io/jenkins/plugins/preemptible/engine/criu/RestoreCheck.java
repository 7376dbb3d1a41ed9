package io.jenkins.plugins.preemptible.engine.criu;

import java.io.IOException;

/** What is asked when all processes of a tree are restored and none of them runs yet. */
public interface RestoreCheck {

    /** @throws IOException when they must not run: they are killed, and the restore fails with it */
    void require() throws IOException;
}
