package io.jenkins.plugins.preemptible.engine.privileged.install;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.privileged.HelperAnswer;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedPart;
import io.jenkins.plugins.preemptible.engine.privileged.Verb;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.Optional;

/**
 * What the privileged part of this host can do for this user.
 *
 * @param criu of the level "checkpoints"; empty for the level that keeps stages in memory
 */
public record InstalledLevel(Optional<Path> criu) {

    private static final String CHECKPOINTS = "checkpoints";
    private static final String MEMORY = "memory";

    /**
     * Asks the privileged part, by one call.
     *
     * @throws EngineException {@link FailureReason#NO_ANSWER} when it cannot be called, is of another version, or lacks
     *     one of its files: the stages of one level must not be taken for those of the other
     */
    public static InstalledLevel of(PrivilegedPart part) {
        try {
            HelperAnswer version = part.call(Verb.VERSION, null);
            long protocol = version.number("protocol");
            if (protocol != PrivilegedPart.PROTOCOL) {
                throw unusable(
                        part,
                        "is of another version (interface " + protocol + ", this program has " + PrivilegedPart.PROTOCOL
                                + ")");
            }
            return switch (version.text("level")) {
                case MEMORY -> new InstalledLevel(Optional.empty());
                case CHECKPOINTS -> checkpoints(part, Path.of(version.text("criu")));
                default -> throw unusable(part, "has a level that this program does not know");
            };
        } catch (IOException e) {
            throw unusable(part, "gives an answer that is not understood: " + e.getMessage());
        }
    }

    private static InstalledLevel checkpoints(PrivilegedPart part, Path criu) {
        for (String name : PrivilegedInstall.CHECKPOINT_FILES) {
            Path file = criu.resolveSibling(name);
            if (!Files.isExecutable(file)) {
                throw unusable(part, "is there, and " + file + ", which it runs, is not");
            }
        }
        return new InstalledLevel(Optional.of(criu));
    }

    private static EngineException unusable(PrivilegedPart part, String why) {
        return new EngineException(FailureReason.NO_ANSWER, part.program() + " " + why);
    }

    /** What is left of an installation whose program is gone, as a clause for people. */
    public static Optional<String> remains(PrivilegedInstall place) {
        boolean left = Files.exists(place.rule(), LinkOption.NOFOLLOW_LINKS) || Files.isDirectory(place.library());
        return left && !Files.exists(place.program())
                ? Optional.of("the privileged part is half installed: " + place.program() + " is missing")
                : Optional.empty();
    }
}
