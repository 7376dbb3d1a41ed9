package io.jenkins.plugins.preemptible.engine.privileged;

import com.fasterxml.jackson.databind.ObjectMapper;
import io.jenkins.plugins.preemptible.engine.Tier;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageId;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus;
import io.jenkins.plugins.preemptible.engine.stage.StageStatus.State;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Map;
import java.util.Optional;

/**
 * What a user's own side keeps of the stages that the privileged part looks after.
 *
 * <ol>
 *   <li>A folder for each stage, into which its init and its command write; root never opens it.
 *   <li>A note of the archive that was written last.
 *   <li>With both, what the host says of a stage becomes its whole status.
 * </ol>
 */
record OwnFolders(Path home) {

    private static final ObjectMapper JSON = new ObjectMapper();

    Stage stage(StageId id) {
        return new Stage(home.resolve("stages").resolve(id.value()));
    }

    /** A new folder for files on their way; the caller removes it. */
    Path passing() throws IOException {
        Path all = home.resolve("passing");
        Files.createDirectories(
                all, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        return Files.createTempDirectory(all, "image");
    }

    /** Where an archive is, and what changes when it is written to. */
    private record Note(String archive, String stamp) {}

    /** The folder of one stage. */
    record Stage(Path path) {

        void create() throws IOException {
            new StageFolder(path).create();
        }

        Optional<Integer> exitCode() {
            return new StageFolder(path).exitCode();
        }

        private Path noteFile() {
            return path.resolve("archive.json");
        }

        void note(Path archive) throws IOException {
            Files.write(noteFile(), JSON.writeValueAsBytes(new Note(archive.toString(), stamp(archive))));
        }

        private Optional<Note> note() {
            try {
                return Files.exists(noteFile())
                        ? Optional.of(JSON.readValue(noteFile().toFile(), Note.class))
                        : Optional.empty();
            } catch (IOException e) {
                return Optional.empty();
            }
        }

        Optional<Path> archive() {
            return note().map(n -> Path.of(n.archive()));
        }

        boolean isLastArchive(Path archive) {
            return note().filter(n -> n.archive().equals(archive.toString()) && n.stamp().equals(stamp(archive)))
                    .isPresent();
        }

        /** The archive is of no more use: it goes, too. */
        void dropArchive() {
            try {
                if (archive().isPresent()) {
                    Files.deleteIfExists(archive().get());
                }
                forgetArchive();
            } catch (IOException e) {
                throw new UncheckedIOException("the archive of a stage that runs on cannot be removed", e);
            }
        }

        void forgetArchive() throws UncheckedIOException {
            try {
                Files.deleteIfExists(noteFile());
            } catch (IOException e) {
                throw new UncheckedIOException(noteFile() + " cannot be removed", e);
            }
        }

        private static String stamp(Path file) {
            try {
                Map<String, Object> seen = Files.readAttributes(file, "unix:size,ino,ctime");
                return seen.get("size") + " " + seen.get("ino") + " " + seen.get("ctime");
            } catch (IOException e) {
                return "unknown " + e.getClass().getSimpleName();
            }
        }

        /** The host knows that the init is gone, this folder why. */
        StageStatus complete(Wire.Status seen) {
            Optional<Integer> code = exitCode();
            State state = seen.state() == State.FAILED && code.isPresent() ? State.ENDED : seen.state();
            boolean sandbox = !Files.exists(path.resolve("output.log"));
            Path archive = state == State.SUSPENDED ? archive().orElse(null) : null;
            Tier tier = seen.tier();
            if (state == State.SUSPENDED && tier != Tier.LOCAL_IMAGE) {
                // The host's own archive was on its way only: this user's counts.
                tier = archive != null && Files.isRegularFile(archive) ? Tier.ARCHIVE : null;
            }
            return seen.with(
                    state,
                    state == State.KILLED ? Integer.valueOf(137) : code.orElse(null),
                    archive,
                    sandbox ? null : path.resolve("output.log"),
                    tier);
        }

        void deleteQuietly() {
            try {
                StageFolder.delete(path);
            } catch (IOException e) {
                // What a process of the stage still writes: it hinders nothing but this id.
            }
        }
    }
}
