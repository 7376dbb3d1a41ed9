package io.jenkins.plugins.preemptible.engine.trial;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.TrialResult;
import io.jenkins.plugins.preemptible.engine.api.TrialVerdict;
import io.jenkins.plugins.preemptible.engine.content.ContentReader;
import io.jenkins.plugins.preemptible.engine.content.FileKind;
import io.jenkins.plugins.preemptible.engine.content.ImageContent;
import io.jenkins.plugins.preemptible.engine.fixup.ImageFixups;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.freeze.FreezerKind;
import io.jenkins.plugins.preemptible.engine.host.HostMemory;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.TimeLimits;
import io.jenkins.plugins.preemptible.engine.stage.CriuOptions;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.BooleanSupplier;
import java.util.logging.Level;
import java.util.logging.Logger;

/**
 * Tries whether an image can be restored.
 *
 * <ol>
 *   <li>The image is restored without its pages. Passed: it can be restored.
 *   <li>Failed: it is restored once more with its pages, which some need (Valgrind), and only that verdict counts.
 *   <li>An image that cannot be tried here, or whose trial was killed, is no failure: {@link TrialVerdict#NOT_TRIED}.
 *       Nor is a trial that takes too long, {@link TrialVerdict#OUT_OF_TIME}; but CRIU may hang there as the real
 *       restore would.
 * </ol>
 *
 * Changes nothing but its own folder, which is gone afterwards. Memory is not compared: the image's seal covers it.
 */
public final class ImageTrial {

    /** The environment variable of the engine's own process that switches trials off: {@code off}. */
    static final String SETTING = "PREEMPTIBLE_TRIAL";

    /** Where the location of the trial's control group is noted while there is one. */
    static final String GROUP = "group";

    /** Where stand-ins for files of the stage lie, in the trial's folder. */
    static final String TREES = "trees";

    private static final Logger LOG = Logger.getLogger(ImageTrial.class.getName());
    private static final Duration LIMIT = TimeLimits.of(Duration.ofSeconds(10));
    private static final long BYTES_PER_SECOND = 100_000_000;

    /**
     * The image that is tried, and the means.
     *
     * @param images CRIU's files, which must not change meanwhile
     * @param folder made for the trial, and removed; its parent exists
     * @param logs where CRIU's log goes, as {@code trial.log}
     * @param tools the folder that comes first on CRIU's PATH
     * @param criu the program
     * @param mounts the mount points of the host that the image refers to
     * @param untriable why no trial of it can be made, in words; null when one can
     */
    public record Subject(
            StageId id,
            Path images,
            Path folder,
            Path logs,
            Path tools,
            Path criu,
            CriuOptions options,
            List<String> mounts,
            String untriable) {

        public Subject {
            mounts = List.copyOf(mounts);
        }
    }

    private final Subject subject;
    private final BooleanSupplier cancelled;
    private final List<Path> workspace;
    /** Of the image; null where it is to be read. */
    private final ImageContent known;

    private ImageTrial(Subject subject, List<Path> workspace, ImageContent known, BooleanSupplier cancelled) {
        this.subject = subject;
        this.workspace = workspace;
        this.known = known;
        this.cancelled = cancelled;
    }

    /**
     * Runs the trial; blocks until nothing of it is left.
     *
     * @param cancelled asked repeatedly; true ends the trial
     */
    static TrialResult run(Subject subject, BooleanSupplier cancelled) {
        return run(subject, List.of(), null, cancelled);
    }

    /**
     * The same on a host that has neither the pages nor the workspace: what fails is not tried with them, and a failure that
     * names a file of the workspace says nothing.
     *
     * @param subject its image is stripped already, and for this trial alone; its files change
     * @param workspace folders that are not there; empty where the image is tried on its own host
     * @param known what is in the image; null where that is to be read
     */
    static TrialResult run(Subject subject, List<Path> workspace, ImageContent known, BooleanSupplier cancelled) {
        long begun = System.nanoTime();
        TrialResult result = new ImageTrial(subject, workspace, known, cancelled).run(System.getenv());
        return result.after(Duration.ofNanos(System.nanoTime() - begun).toMillis());
    }

    private TrialResult run(Map<String, String> environment) {
        try {
            if ("off".equals(environment.get(SETTING)) || "off".equals(System.getProperty(SETTING))) {
                throw new UntriableException(SETTING + "=off");
            }
            if (subject.untriable() != null) {
                throw new UntriableException(subject.untriable());
            }
            if (HostTool.find("ip").isEmpty()) {
                throw new UntriableException("ip of iproute2 is not on this host");
            }
            clear(subject.folder());
            Files.createDirectory(
                    subject.folder(),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            return tried();
        } catch (UntriableException e) {
            return TrialResult.notTried(e.getMessage());
        } catch (IOException e) {
            return TrialResult.notTried(e.toString());
        } finally {
            try {
                clear(subject.folder());
            } catch (IOException e) {
                // The next step on the stage removes it.
            }
        }
    }

    private TrialResult tried() throws IOException, UntriableException {
        ImageContent content = known == null ? ContentReader.ofFolderWithoutPages(subject.images()) : known;
        if (content.sockets().stream().anyMatch(s -> s.kind() == FileKind.PACKET_SOCKET)) {
            throw new UntriableException("a packet socket needs the host's own interfaces");
        }
        // For the script, which binds it in any case.
        Path trees = subject.folder().resolve(TREES);
        WorkspaceStandIns standIns = WorkspaceStandIns.make(subject.images(), content, workspace, trees);
        boolean elsewhere = !workspace.isEmpty();
        Path stripped = elsewhere
                ? subject.images()
                : Files.createDirectory(subject.folder().resolve("image"));
        Set<Long> sharedFiles =
                elsewhere ? StrippedImage.sharedFiles(stripped) : StrippedImage.make(subject.images(), stripped);
        ScratchNetwork network = ScratchNetwork.of(subject.images());
        long bytes =
                content.parts().stream().mapToLong(ImageContent.Part::bytes).sum();
        Duration limit = LIMIT.plusSeconds(bytes / BYTES_PER_SECOND);
        TrialMounts mounts = TrialMounts.of(content, subject.mounts(), sharedFiles, standIns);
        TrialResult first =
                new TrialRun(subject, subject.folder(), stripped, mounts, network, standIns).run(limit, 0, cancelled);
        if (elsewhere) {
            if (first.criuLines().stream().anyMatch(standIns::isNamedBy)) {
                throw new UntriableException("a file of the workspace is needed: " + first.criuLines());
            }
            if (first.verdict() == TrialVerdict.FAILED && ImageFixups.lacksVdso(subject.images())) {
                throw new UntriableException("a process without vDSO, as under Valgrind, needs its pages");
            }
            return first;
        }
        if (first.verdict() != TrialVerdict.FAILED || HostMemory.now().availableBytes() / 2 < bytes) {
            return first;
        }
        LOG.log(Level.FINE, "{0} is tried with its pages, since without them: {1}", new Object[] {
            subject.images(), first.criuLines()
        });
        long deleted = content.deletedFiles().stream()
                .mapToLong(ImageContent.DeletedFile::bytes)
                .sum();
        // Anew: a mount of the host may have gone meanwhile.
        mounts = TrialMounts.of(content, subject.mounts(), sharedFiles, standIns);
        return new TrialRun(subject, subject.folder(), subject.images(), mounts, network, standIns)
                .run(limit, deleted, cancelled)
                .ofTheWholeImage();
    }

    /**
     * Removes what is left of a trial, its processes first; without effect when nothing is.
     *
     * @param folder of the trial
     */
    public static void clear(Path folder) throws IOException {
        Path noted = folder.resolve(GROUP);
        // The process may have died before it wrote it.
        if (Files.exists(noted) && Files.size(noted) > 0) {
            Freezer group = FreezerKind.at(Files.readString(noted));
            group.kill(null);
            group.remove();
        }
        StageFolder.delete(folder);
    }
}
