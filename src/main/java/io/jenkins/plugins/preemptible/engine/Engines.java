package io.jenkins.plugins.preemptible.engine;

import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.home.LocalImages;
import io.jenkins.plugins.preemptible.engine.home.OwnFolders;
import io.jenkins.plugins.preemptible.engine.home.PrivilegedStages;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.privileged.PrivilegedPart;
import io.jenkins.plugins.preemptible.engine.privileged.install.InstalledLevel;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;

/** Chooses the implementation of {@link Engine} for the rights of this process. */
final class Engines {

    /** One for all engines of this process: agents open an engine for every verb, and {@code criu check} takes its time. */
    private static final CriuSearch INSTALLED = new CriuSearch();

    private Engines() {}

    static Engine open(Path home) {
        LocalImages localImages = LocalImages.of(System.getenv());
        if (!HostProcess.isRoot()) {
            Optional<PrivilegedPart> privileged = PrivilegedPart.find();
            if (privileged.isPresent()) {
                // By what is installed, whether images are allowed or not: a stage is of one kind all its life.
                Optional<Path> criu = InstalledLevel.of(privileged.get()).criu();
                return criu.isEmpty()
                        ? throughSudo(home, privileged.get())
                        : direct(
                                home,
                                CriuSearch.ofHelper(criu.get()),
                                FreezerKind.HELPER,
                                localImages,
                                allowsCheckpoints());
            }
        }
        return direct(home, INSTALLED, null, localImages, allowsCheckpoints());
    }

    /** With these criu programs and this kind of freezer only (null for any). */
    static Engine direct(
            Path home, CriuSearch criu, FreezerKind freezers, LocalImages localImages, boolean checkpoints) {
        Path made = made(home);
        Engine direct = new DirectEngine(new Stages(made, criu, freezers, localImages, checkpoints));
        return PartedEngine.of(ContainerEngine.of(direct, made), made);
    }

    static Engine throughSudo(Path home, PrivilegedPart part) {
        Path made = made(home);
        return ContainerEngine.of(new SudoEngine(new PrivilegedStages(new OwnFolders(made), part)), made);
    }

    private static Path made(Path home) {
        try {
            Path absolute = home.toAbsolutePath().normalize();
            if (!Files.isDirectory(absolute)) {
                Files.createDirectories(
                        absolute, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            }
            return absolute.toRealPath();
        } catch (IOException e) {
            throw new UncheckedIOException("the home folder " + home + " cannot be made", e);
        }
    }

    /**
     * Whether the administrator allows images: PREEMPTIBLE_CHECKPOINTS=off, in this process's environment or as a
     * system property, keeps suspended stages in memory only.
     */
    private static boolean allowsCheckpoints() {
        return allowsCheckpoints(System.getenv()) && !"off".equals(System.getProperty("PREEMPTIBLE_CHECKPOINTS"));
    }

    static boolean allowsCheckpoints(Map<String, String> environment) {
        return !environment.getOrDefault("PREEMPTIBLE_CHECKPOINTS", "").equals("off");
    }
}
