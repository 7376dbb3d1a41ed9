package io.jenkins.plugins.preemptible.engine.stage;

import com.fasterxml.jackson.annotation.JsonIgnoreProperties;
import io.jenkins.plugins.preemptible.engine.api.Connections;
import io.jenkins.plugins.preemptible.engine.api.Handover;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import java.util.List;
import java.util.function.Consumer;

/**
 * What is kept on disk about a stage, so that any process on this host finds it again.
 *
 * <ol>
 *   <li>It is written before each effect: it says what was about to happen; the host shows what happened.
 *   <li>{@code init} is the stage's first process on this host, null when there is none.
 *   <li>{@code mounts} are the mount points that the stage was given at its start; they belong to the host.
 * </ol>
 *
 * @param archive where the image is sealed to, null unless a dump began; it is whole when {@code dumped} or the state
 *     says so
 * @param dumped the host's process ids in the image that waits for commit or thaw, without zombies; null when none waits
 * @param freezer where its freezer is, null when the stage has none
 * @param startedAt ISO 8601
 * @param sandbox whether it has no command of its own
 * @param connections what a suspension does with connections to the outside
 * @param preserved absolute paths that are packed with the image
 * @param options what criu is given at the dump and at the restore
 * @param freezing how it was frozen, null unless it is being suspended
 * @param image which image is the stage's last one, null before its first dump
 * @param container in which all of its processes live, null for a stage on the host itself; its mounts are the container's then
 */
@JsonIgnoreProperties(ignoreUnknown = true)
public record StageJson(
        String id,
        String name,
        String workDir,
        boolean sandbox,
        StageStatus.State state,
        HostProcess init,
        String freezer,
        String startedAt,
        String archive,
        int suspensions,
        List<Long> dumped,
        List<String> mounts,
        String folder,
        Connections connections,
        List<String> preserved,
        CriuOptions options,
        Freezing freezing,
        Image image,
        StageContainer container) {

    /**
     * A suspension under way.
     *
     * @param preflightMillis the preflight, before the freeze
     * @param millis the freeze itself
     * @param dumper the criu that dumps it, null unless one was started
     */
    public record Freezing(long preflightMillis, long millis, Handover handover, HostProcess dumper) {
        public Freezing withDumper(HostProcess next) {
            return new Freezing(preflightMillis, millis, handover, next);
        }
    }

    /**
     * One image, told apart from every other one of the stage.
     *
     * @param createdAt as its manifest says
     * @param archiveStamp of its archive when it was sealed, null until then
     * @param processes in it
     * @param bootId of the host when CRIU wrote its files, which are not forced to disk: after a loss of power they may
     *     be holes; null in records of older versions
     */
    public record Image(String createdAt, FileStamp archiveStamp, int processes, String bootId) {

        /** This image, once its archive is sealed. */
        public Image sealed(FileStamp stamp) {
            return new Image(createdAt, stamp, processes, bootId);
        }
    }

    public StageJson {
        connections = connections == null ? Connections.REFUSE : connections;
        preserved = preserved == null ? List.of() : List.copyOf(preserved);
        options = options == null ? CriuOptions.PLAIN : options;
    }

    /** A stage that is about to start. */
    public static StageJson starting(
            StageSpec spec, String freezer, String startedAt, String folder, StageContainer container) {
        return new StageJson(
                spec.id().value(),
                spec.name(),
                spec.workDir().toString(),
                spec.command().isEmpty(),
                StageStatus.State.RUNNING,
                null,
                freezer,
                startedAt,
                null,
                0,
                null,
                List.of(),
                folder,
                spec.connections(),
                spec.preserved().stream().map(Object::toString).toList(),
                CriuOptions.PLAIN,
                null,
                null,
                container);
    }

    public StageJson withState(StageStatus.State next) {
        return with(draft -> draft.state = next);
    }

    public StageJson withInit(HostProcess next) {
        return with(draft -> draft.init = next);
    }

    public StageJson withFreezer(String next) {
        return with(draft -> draft.freezer = next);
    }

    public StageJson withArchive(String nextArchive, List<Long> nextDumped) {
        return with(draft -> {
            draft.archive = nextArchive;
            draft.dumped = nextDumped;
        });
    }

    public StageJson withMounts(List<String> next) {
        return with(draft -> draft.mounts = next);
    }

    public StageJson withSuspensions(int next) {
        return with(draft -> draft.suspensions = next);
    }

    public StageJson withOptions(CriuOptions next) {
        return with(draft -> draft.options = next);
    }

    public StageJson withFreezing(Freezing next) {
        return with(draft -> draft.freezing = next);
    }

    public StageJson withImage(Image next) {
        return with(draft -> draft.image = next);
    }

    private StageJson with(Consumer<Draft> change) {
        Draft draft = new Draft(this);
        change.accept(draft);
        return draft.record(this);
    }

    /** The components that change after the start, while a new record is made. */
    private static final class Draft {
        private StageStatus.State state;
        private HostProcess init;
        private String freezer;
        private String archive;
        private int suspensions;
        private List<Long> dumped;
        private List<String> mounts;
        private CriuOptions options;
        private Freezing freezing;
        private Image image;

        Draft(StageJson from) {
            state = from.state;
            init = from.init;
            freezer = from.freezer;
            archive = from.archive;
            suspensions = from.suspensions;
            dumped = from.dumped;
            mounts = from.mounts;
            options = from.options;
            freezing = from.freezing;
            image = from.image;
        }

        StageJson record(StageJson from) {
            return new StageJson(
                    from.id,
                    from.name,
                    from.workDir,
                    from.sandbox,
                    state,
                    init,
                    freezer,
                    from.startedAt,
                    archive,
                    suspensions,
                    dumped,
                    mounts,
                    from.folder,
                    from.connections,
                    from.preserved,
                    options,
                    freezing,
                    image,
                    from.container);
        }
    }
}
