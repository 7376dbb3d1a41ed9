package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedPart;
import java.nio.file.Path;

/** Opens the engine of a user whose privileged part makes no images, for tests in other packages. */
public final class EnginesThroughSudo {

    private EnginesThroughSudo() {}

    public static Engine open(Path home, PrivilegedPart part) {
        return Engines.throughSudo(home, part);
    }
}
