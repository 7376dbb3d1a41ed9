package io.jenkins.plugins.preemptible.engine.home;

import io.jenkins.plugins.preemptible.engine.api.EngineException;
import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.Leftover;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Clock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Stream;

/**
 * Finds and removes the leftovers of stages that are over.
 *
 * <ol>
 *   <li>Folders of stages that ended, failed or were killed; folders without a record that no start is about to write.
 *   <li>Control groups without a process that no stage of this home names, wherever they were made. No group says whose
 *       home it belongs to, so it is removed only at an age at which no start can be about to use it.
 *   <li>Images of killed stages, only when that is asked for: they are the user's files.
 * </ol>
 *
 * Folders younger than a minute and groups younger than ten minutes stay: a start, perhaps of another home, may be
 * about to use them.
 *
 * @param list all stages, as the engine knows them
 * @param forget removes a stage that is over, as the engine does
 * @param stages empty for an engine whose verbs the privileged part carries out
 * @param clock against which ages are measured
 */
public record CleanUp(
        Supplier<List<StageStatus>> list, Consumer<StageId> forget, Optional<Stages> stages, Clock clock) {

    private static final Set<State> OVER = EnumSet.of(State.ENDED, State.FAILED, State.KILLED);
    private static final Duration SETTLED = Duration.ofMinutes(1);
    /** A start puts its first process into its group within seconds; a host that swaps takes minutes. */
    private static final Duration GROUP_SETTLED = Duration.ofMinutes(10);

    public CleanUp(Supplier<List<StageStatus>> list, Consumer<StageId> forget, Optional<Stages> stages) {
        this(list, forget, stages, Clock.systemUTC());
    }

    public List<Leftover> clean(boolean dryRun, Duration imageAge) {
        try {
            List<Leftover> left = new ArrayList<>();
            for (StageStatus stage : list.get()) {
                if (OVER.contains(stage.state())) {
                    ended(stage, dryRun, imageAge, left);
                }
            }
            if (stages.isPresent()) {
                foldersWithoutRecord(stages.get(), dryRun, left);
                groups(stages.get(), dryRun, left);
            }
            return List.copyOf(left);
        } catch (IOException e) {
            throw new UncheckedIOException("not all that is left of stages can be removed", e);
        }
    }

    private void ended(StageStatus stage, boolean dryRun, Duration imageAge, List<Leftover> left) throws IOException {
        Optional<StageJson> record = stages.flatMap(s -> s.folder(stage.id()).read());
        Optional<Path> image = record.filter(r -> r.state() == State.KILLED && imageAge != null)
                .filter(SealedImages::ownsSealed)
                .map(r -> Path.of(r.archive()));
        if (image.isPresent() && age(image.get()).compareTo(imageAge) >= 0) {
            left.add(new Leftover(Leftover.Kind.IMAGE, image.get(), stage.id().value()));
            if (!dryRun) {
                Files.deleteIfExists(image.get());
            }
        }
        Path folder = stages.map(s -> s.folder(stage.id()).path())
                .orElse(Path.of(stage.id().value()));
        left.add(new Leftover(Leftover.Kind.FOLDER, folder, stage.state().name()));
        if (!dryRun) {
            try {
                forget.accept(stage.id());
            } catch (EngineException e) {
                // Another process forgets it at this moment.
                if (e.reason() != FailureReason.UNKNOWN_STAGE) {
                    throw e;
                }
            }
        }
    }

    private void foldersWithoutRecord(Stages stages, boolean dryRun, List<Leftover> left) throws IOException {
        Path all = stages.home().resolve("stages");
        if (!Files.isDirectory(all)) {
            return;
        }
        try (Stream<Path> folders = Files.list(all)) {
            for (Path each : folders.filter(Files::isDirectory).sorted().toList()) {
                StageFolder folder = new StageFolder(each);
                boolean used = folder.exists()
                        || age(each).compareTo(SETTLED) < 0
                        || StageLaunch.find(folder).isPresent();
                if (!used) {
                    left.add(new Leftover(Leftover.Kind.FOLDER_WITHOUT_RECORD, each, "no stage.json"));
                    if (!dryRun) {
                        StageFolder.delete(each);
                    }
                }
            }
        }
    }

    private void groups(Stages stages, boolean dryRun, List<Leftover> left) throws IOException {
        Set<String> named = new HashSet<>();
        for (StageId id : stages.ids()) {
            try {
                stages.folder(id).read().map(StageJson::freezer).ifPresent(named::add);
            } catch (UncheckedIOException e) {
                // Of a stage whose record cannot be read, the groups are its own until it is forgotten.
                FreezerKind.left(id, stages.freezers()).forEach(g -> named.add(g.location()));
            }
        }
        for (Map.Entry<Freezer, StageId> group : FreezerKind.all().entrySet()) {
            Path folder = group.getKey().cgroup().orElseThrow();
            boolean used = named.contains(group.getKey().location())
                    || !group.getKey().pids(null).isEmpty()
                    || groupAge(folder).compareTo(GROUP_SETTLED) < 0;
            if (!used) {
                left.add(new Leftover(
                        Leftover.Kind.GROUP, folder, group.getValue().value()));
                if (!dryRun) {
                    group.getKey().remove();
                }
            }
        }
    }

    private Duration age(Path path) throws IOException {
        return Files.exists(path)
                ? Duration.between(Files.getLastModifiedTime(path).toInstant(), clock.instant())
                : Duration.ZERO;
    }

    // No process can set the time of the last change back. The kernel may take a group for younger, never for older.
    private Duration groupAge(Path group) {
        try {
            FileTime changed = (FileTime) Files.getAttribute(group, "unix:ctime");
            return Duration.between(changed.toInstant(), clock.instant());
        } catch (IOException e) {
            // Another process removes it at this moment.
            return Duration.ZERO;
        }
    }
}
