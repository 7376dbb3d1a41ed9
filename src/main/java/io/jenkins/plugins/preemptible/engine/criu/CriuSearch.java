package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * Finds a criu on this host that works.
 *
 * <ol>
 *   <li>The variable PREEMPTIBLE_CRIU names one and ends the search; it is for tests and unusual installations.
 *   <li>Otherwise the one on PATH, then the one that {@code .ci/setup} built in the project's own prefix.
 *   <li>The first whose {@code criu check} passes on this kernel is taken, and remembered while its file stays as it
 *       is.
 * </ol>
 */
public final class CriuSearch {

    private record Found(Path program, long modified) {}

    private final List<Path> candidates;
    private final boolean helper;
    private volatile Found found;

    public CriuSearch() {
        this(null);
    }

    /** Tries these files only, or the usual places when null. */
    public CriuSearch(List<Path> candidates) {
        this(candidates, false);
    }

    private CriuSearch(List<Path> candidates, boolean helper) {
        this.candidates = candidates;
        this.helper = helper;
    }

    /** The criu that the privileged part runs. Only its installation can try it. */
    public static CriuSearch ofHelper(Path program) {
        return new CriuSearch(List.of(program), true);
    }

    /** Every criu found, whether it works or not, the best place first. */
    public List<Path> installed() {
        if (candidates != null) {
            return candidates.stream().filter(Files::isExecutable).toList();
        }
        String named = System.getenv("PREEMPTIBLE_CRIU");
        if (named != null && !named.isBlank()) {
            return Files.isExecutable(Path.of(named)) ? List.of(Path.of(named)) : List.of();
        }
        List<Path> all = new ArrayList<>();
        HostTool.find("criu").ifPresent(all::add);
        Path own = prefix().resolve("criu/sbin/criu");
        if (Files.isExecutable(own)) {
            all.add(own);
        }
        return all;
    }

    /**
     * The project's own folder for what its set-up builds, absolute: PREEMPTIBLE_PREFIX, else {@code preemptible} below
     * XDG_DATA_HOME, else below {@code .local/share} of HOME. A relative XDG_DATA_HOME or HOME counts as none, as the
     * XDG Base Directory Specification has it.
     */
    public static Path prefix() {
        return prefix(System.getenv(), System.getProperty("user.home"));
    }

    /** @param userHome used without HOME; Java takes it from the user database and ignores HOME */
    static Path prefix(Map<String, String> environment, String userHome) {
        String named = environment.getOrDefault("PREEMPTIBLE_PREFIX", "");
        if (!named.isBlank()) {
            return Path.of(named).toAbsolutePath();
        }
        String data = environment.getOrDefault("XDG_DATA_HOME", "");
        if (data.startsWith("/")) {
            return Path.of(data, "preemptible");
        }
        String home = environment.getOrDefault("HOME", "");
        return Path.of(home.startsWith("/") ? home : userHome, ".local", "share", "preemptible");
    }

    /** The first criu that works here. */
    public Optional<Criu> usable() {
        if (helper) {
            return installed().stream().findFirst().map(HelperCriu::new);
        }
        Found known = found;
        if (known != null && known.program().toFile().lastModified() == known.modified()) {
            return Optional.of(new Criu(known.program()));
        }
        for (Path program : installed()) {
            long modified = program.toFile().lastModified();
            if (new Criu(program).check().ok()) {
                found = new Found(program, modified);
                return Optional.of(new Criu(program));
            }
        }
        return Optional.empty();
    }
}
