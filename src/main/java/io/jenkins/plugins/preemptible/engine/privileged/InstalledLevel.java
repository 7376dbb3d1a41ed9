package io.jenkins.plugins.preemptible.engine.privileged;

import io.jenkins.plugins.preemptible.engine.EngineException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;

/**
 * What the privileged part of this host can do for this user.
 *
 * @param criu of the level "checkpoints"; empty for the level that keeps stages in memory
 * @param fault what is wrong with the installation, a clause for people; empty when it can be used
 */
public record InstalledLevel(Optional<Path> criu, Optional<String> fault) {

    private static final String CHECKPOINTS = "checkpoints";
    private static final String MEMORY = "memory";

    /** Asks it; one call. */
    public static InstalledLevel of(PrivilegedPart part) {
        try {
            HelperAnswer version = part.call(Verb.VERSION, null);
            long protocol = version.number("protocol");
            if (protocol != PrivilegedPart.PROTOCOL) {
                return faulty("is of another version (interface " + protocol + ", this program has "
                        + PrivilegedPart.PROTOCOL + ")");
            }
            return switch (version.text("level")) {
                case MEMORY -> new InstalledLevel(Optional.empty(), Optional.empty());
                case CHECKPOINTS -> checkpoints(Path.of(version.text("criu")));
                default -> faulty("has a level that this program does not know");
            };
        } catch (EngineException e) {
            return faulty("cannot be called: " + e.detail());
        } catch (IOException e) {
            return faulty("cannot be called: " + e.getMessage());
        }
    }

    private static InstalledLevel checkpoints(Path criu) {
        for (String name : PrivilegedInstall.CHECKPOINT_FILES) {
            Path file = criu.resolveSibling(name);
            if (!Files.isExecutable(file)) {
                return faulty("is there, and " + file + ", which it runs, is not");
            }
        }
        return new InstalledLevel(Optional.of(criu), Optional.empty());
    }

    private static InstalledLevel faulty(String fault) {
        return new InstalledLevel(Optional.empty(), Optional.of(fault));
    }

    /** What an installation left on this host whose program is gone, a clause for people. */
    static Optional<String> remains(PrivilegedInstall place) {
        boolean left = Files.exists(place.rule(), LinkOption.NOFOLLOW_LINKS) || Files.isDirectory(place.library());
        return left && !Files.exists(place.program())
                ? Optional.of("the privileged part is half installed: " + place.program() + " is missing")
                : Optional.empty();
    }
}
