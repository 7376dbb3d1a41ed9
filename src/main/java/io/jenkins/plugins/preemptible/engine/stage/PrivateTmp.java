package io.jenkins.plugins.preemptible.engine.stage;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;

/**
 * A stage's own /tmp and /dev/shm, which travel with its image.
 *
 * <ol>
 *   <li>Each is a tmpfs in the stage's mount namespace. CRIU puts its content into the image, so FIFOs, sockets' names,
 *       locks and POSIX shared memory come back wherever the stage is resumed; no process outside sees or removes them.
 *   <li>What the stage needs of the host's folder is bound through: its own folder, its working folder, HOME. Of a
 *       sandbox it is the folder above the working folder, since Jenkins keeps scripts and credentials in a neighbour
 *       of the workspace, {@code WORKSPACE@tmp}, which it makes later.
 *   <li>Where that would be the whole of the host's folder, the stage keeps the host's folder.
 * </ol>
 *
 * <p>/var/tmp stays the host's: what is put there is large, and meant to outlive its makers. Source: systemd.exec(5),
 * PrivateTmp; CRIU's {@code tmpfs_dump}, which writes a tar file.
 *
 * @param at the folder, {@code /tmp} or {@code /dev/shm}
 * @param size the tmpfs's {@code size} option, see tmpfs(5)
 * @param through absolute paths below {@code at} that stay the host's, none below another
 */
public record PrivateTmp(Path at, String size, List<Path> through) {

    /**
     * The environment variable of the engine's own process that sets the size of /tmp, such as {@code 2g} or
     * {@code 10%} (of the host's memory), or keeps the host's folders: {@code host}.
     */
    public static final String SETTING = "PREEMPTIBLE_TMP";

    /** The source of these mounts in mountinfo, by which they are told from the host's; CRIU keeps it. */
    static final String SOURCE = "preemptible";

    // Half of the memory is tmpfs's own default, but what is in it has to be written by every dump.
    private static final String TMP_SIZE = "25%";
    // What programs find on every host.
    private static final String SHM_SIZE = "50%";
    private static final String KEEP = "host";
    private static final Pattern SIZE = Pattern.compile("[1-9][0-9]{0,11}[kKmMgG]?|[1-9][0-9]?%");

    /**
     * The folders that a stage gets.
     *
     * @param setting the value of {@link #SETTING}, null for none
     * @param home the HOME that the stage will have, null for none
     * @throws EngineException {@link FailureReason#BAD_SPEC} for a setting that is none, or a program that the stage
     *     would not see
     */
    public static List<PrivateTmp> of(StageSpec spec, Path stageFolder, String home, String setting)
            throws IOException {
        if (KEEP.equals(setting)) {
            return List.of();
        }
        if (setting != null && !SIZE.matcher(setting).matches()) {
            throw new EngineException(
                    FailureReason.BAD_SPEC,
                    SETTING + " is '" + setting + "'; it takes a size such as 2g or 10%, or 'host'");
        }
        List<PrivateTmp> all = new ArrayList<>();
        of(Path.of("/tmp"), setting == null ? TMP_SIZE : setting, spec, stageFolder, home)
                .ifPresent(all::add);
        of(Path.of("/dev/shm"), SHM_SIZE, spec, stageFolder, home).ifPresent(all::add);
        return List.copyOf(all);
    }

    private static Optional<PrivateTmp> of(Path at, String size, StageSpec spec, Path stageFolder, String home)
            throws IOException {
        if (!Files.isDirectory(at, LinkOption.NOFOLLOW_LINKS)) {
            // A link: mounting on it would cover a folder that other names lead to as well.
            return Optional.empty();
        }
        Path work = real(spec.workDir());
        Path above = work.getParent();
        boolean sandbox = spec.command().isEmpty() && above != null;
        List<Optional<Path>> seen = new ArrayList<>(List.of(
                Optional.of(real(stageFolder)),
                Optional.of(sandbox && work.startsWith(at) ? above : work),
                existing(home)));
        // Folders: a file alone cannot be let through, since a program that replaces it replaces its name.
        for (Path preserved : spec.preserved()) {
            seen.add(existing(preserved.toString()));
        }
        List<Path> through = seen.stream()
                .flatMap(Optional::stream)
                .filter(p -> p.startsWith(at))
                .toList();
        if (through.contains(at)) {
            return Optional.empty();
        }
        PrivateTmp own = new PrivateTmp(at, size, outermost(through));
        own.requireProgram(spec.command());
        return Optional.of(own);
    }

    private static Path real(Path path) throws IOException {
        return path.toRealPath();
    }

    private static Optional<Path> existing(String folder) throws IOException {
        if (folder == null || !folder.startsWith("/") || !Files.isDirectory(Path.of(folder))) {
            return Optional.empty();
        }
        return Optional.of(real(Path.of(folder)));
    }

    private static List<Path> outermost(List<Path> paths) {
        List<Path> kept = new ArrayList<>();
        for (Path path :
                paths.stream().sorted(Comparator.comparing(Path::getNameCount)).toList()) {
            if (kept.stream().noneMatch(path::startsWith)) {
                kept.add(path);
            }
        }
        return List.copyOf(kept);
    }

    // Otherwise the stage would end at once with 127, and only its output would say why.
    private void requireProgram(List<String> command) {
        if (command.isEmpty()) {
            return;
        }
        Path program = Path.of(command.get(0)).normalize();
        if (program.startsWith(at) && Files.exists(program) && through.stream().noneMatch(program::startsWith)) {
            throw new EngineException(
                    FailureReason.BAD_SPEC,
                    program + " lies in the host's " + at + ", but the stage has a " + at
                            + " of its own; move it, or set " + SETTING + "=" + KEEP + " to share the host's");
        }
    }

    /** The words for {@code launch.sh}: folder, size, number of paths, paths. */
    public List<String> words() {
        List<String> words = new ArrayList<>(List.of(at.toString(), size, Integer.toString(through.size())));
        through.forEach(p -> words.add(p.toString()));
        return words;
    }
}
