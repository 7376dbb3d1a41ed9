package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus.State;
import io.jenkins.plugins.preemptible.engine.api.SuspendFailedException;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuException;
import io.jenkins.plugins.preemptible.engine.criu.CriuGate;
import io.jenkins.plugins.preemptible.engine.criu.CriuRun;
import io.jenkins.plugins.preemptible.engine.criu.DumpRequest;
import io.jenkins.plugins.preemptible.engine.criu.DumpWay;
import io.jenkins.plugins.preemptible.engine.criu.TaskTraits;
import io.jenkins.plugins.preemptible.engine.freeze.Freezer;
import io.jenkins.plugins.preemptible.engine.home.Stages;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.live.memory.CopyPlan;
import io.jenkins.plugins.preemptible.engine.live.memory.LazyPages;
import io.jenkins.plugins.preemptible.engine.live.memory.MemoryCopies;
import io.jenkins.plugins.preemptible.engine.live.memory.NoCopyException;
import io.jenkins.plugins.preemptible.engine.preflight.Obstacle;
import io.jenkins.plugins.preemptible.engine.preflight.UnreadQueues;
import io.jenkins.plugins.preemptible.engine.stage.Mounts;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.stage.StageJson;
import io.jenkins.plugins.preemptible.engine.suspend.DumpManifest;
import io.jenkins.plugins.preemptible.engine.suspend.FrozenTree;
import io.jenkins.plugins.preemptible.engine.suspend.SuspendAttempt;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.LongConsumer;

/**
 * The moment of a checkpoint in which the stage stands still.
 *
 * <ol>
 *   <li>The tree is frozen, the guard asked, and what CRIU does not cope with refused, as in a suspension.
 *   <li>CRIU has started before, and waits. It writes its image while another thread copies what of the files has changed. With copies of the processes it
 *       leaves their memory out: of small ones it is read at once, of large ones from the copies, while the stage runs.
 *   <li>The tree is thawed, whatever happened; {@link ThawGuard} does so when this process dies.
 * </ol>
 *
 * For one thread.
 */
final class Standstill {

    private static final Duration COPY_LIMIT = Duration.ofSeconds(10);

    private final Stages stages;
    private final StageJson record;
    private final Criu criu;
    private final LiveRequest request;
    private final Prepared prepared;
    private final MemoryCopies copies;
    /** Null until the files are copied. */
    private volatile MirrorPass files;
    /** On the monotonic clock; 0 while the stage runs. */
    private volatile long stopEnd;

    /**
     * What was made while the stage ran.
     *
     * @param mirror a copy of its files, nearly up to date
     * @param shared files that are copied again
     * @param scratch a new folder for CRIU's files, in memory where there is room
     * @param room of the disk that the folder is on; null when it is in memory
     */
    record Prepared(Mirror mirror, SharedWrites shared, Path scratch, Room room) {

        boolean isLow() {
            return room != null && room.isLow();
        }
    }

    /**
     * @param record of the running stage, with the options of its preflight
     * @param copies null when CRIU writes all memory
     */
    Standstill(
            Stages stages, StageJson record, Criu criu, LiveRequest request, Prepared prepared, MemoryCopies copies) {
        this.stages = stages;
        this.record = record;
        this.criu = criu;
        this.request = request;
        this.prepared = prepared;
        this.copies = copies;
    }

    /**
     * What was taken.
     *
     * @param images CRIU's files, with the record that a resume reads
     * @param copiedBytes of files that were copied meanwhile
     * @param memory copies that have yet to be read, by the ids that their originals have within the stage
     */
    record Taken(
            Path images,
            ImageManifest manifest,
            long stopMillis,
            long copiedBytes,
            int processes,
            Map<Path, Long> sizes,
            Map<Integer, Long> memory) {

        /**
         * Reads the memory that is missing yet, while the stage runs.
         *
         * @param room of the disk that it is written to; null when that is memory
         */
        void complete(Room room) throws IOException {
            LongConsumer toll = room == null ? bytes -> {} : room::take;
            for (Map.Entry<Integer, Long> each : memory.entrySet()) {
                MemoryCopies.refuseWiped(each.getValue());
                LazyPages.fill(images, each.getKey(), each.getValue(), toll);
            }
        }
    }

    /**
     * @param now the record under the stage's lock, which the caller holds
     * @throws SuspendFailedException with the reason; the stage runs
     */
    Taken take(StageJson now) throws IOException, CriuException {
        if (!now.init().equals(record.init())) {
            throw new SuspendFailedException(FailureReason.STAGE_BUSY, record.id());
        }
        Freezer freezer = Stages.freezer(record).orElseThrow();
        FrozenTree tree = new FrozenTree(StageId.parse(record.id()), freezer, record.init());
        StageFolder dumped = new StageFolder(prepared.scratch());
        Files.createDirectory(dumped.images());
        try (ThawGuard guard = ThawGuard.of(freezer);
                BegunDump dump = begin(dumped, freezer, guard)) {
            long begun = System.nanoTime();
            stopEnd = begun + request.longestStop().toNanos();
            try {
                List<Proc.Stat> processes = tree.freeze();
                refuse(processes);
                long copied = copyFiles(dump, processes);
                ImageManifest manifest = describe(dumped.images(), processes);
                Map<Path, Long> sizes = sizes();
                Map<Integer, Long> memory = memory(dumped.images(), processes);
                tree.thaw();
                return new Taken(
                        dumped.images(),
                        manifest,
                        SuspendAttempt.millis(begun, System.nanoTime()),
                        copied,
                        processes.size(),
                        sizes,
                        memory);
            } finally {
                tree.thaw();
            }
        }
    }

    /** While CRIU works; returns how many bytes were copied. */
    private long copyFiles(BegunDump dump, List<Proc.Stat> processes) throws IOException, CriuException {
        prepared.shared().add(processes);
        files = MirrorPass.begin(prepared.mirror(), prepared.shared().inodes(), request.mostBytes(), this::tooLong);
        boolean dumped = false;
        try {
            finish(dump);
            dumped = true;
        } finally {
            if (!dumped) {
                files.giveUp();
            }
            files.join();
        }
        return files.copiedBytes();
    }

    /** With copies: the stage runs afterwards. */
    private Map<Integer, Long> memory(Path images, List<Proc.Stat> processes) throws IOException {
        Map<Integer, Long> memory = new HashMap<>();
        if (copies != null) {
            CopyPlan plan = CopyPlan.of(processes);
            for (long each : plan.others()) {
                LazyPages.fill(images, Proc.innerPid(each), each, bytes -> {});
            }
            // Before they run: one may end at once.
            Map<Long, Integer> inner = new HashMap<>();
            plan.copied().forEach(each -> inner.put(each, Proc.innerPid(each)));
            copies.take(plan, COPY_LIMIT).forEach((each, copy) -> memory.put(inner.get(each), copy));
        }
        return memory;
    }

    private void refuse(List<Proc.Stat> processes) {
        Optional<String> objection = request.guard().objection(StageId.parse(record.id()));
        if (objection.isPresent()) {
            throw new SuspendFailedException(FailureReason.OBJECTION, objection.get());
        }
        FrozenTree.refuseTraced(processes);
        Optional<Obstacle> unread = UnreadQueues.find(record.init().pid(), processes);
        if (unread.isPresent()) {
            throw new SuspendFailedException(unread.get().reason(), unread.get().words());
        }
    }

    private BegunDump begin(StageFolder dumped, Freezer freezer, ThawGuard guard) throws IOException {
        StageFolder folder = stages.folder(StageId.parse(record.id()));
        CriuRun.Watch watch = new CriuRun.Watch() {
            @Override
            public void started(HostProcess process) throws IOException {
                guard.dumper(process.pid());
            }

            @Override
            public boolean cancelled() {
                return tooLong()
                        || (files != null && files.failed())
                        || prepared.isLow()
                        || folder.thawAsked()
                        || folder.read().map(r -> r.state() == State.KILLED).orElse(true);
            }
        };
        DumpRequest what = new DumpRequest(record.init(), dumped, freezer, mounts(), record.options());
        // Connections are held still from criu's start on.
        CriuGate gate = record.options().tcpEstablished()
                ? null
                : CriuGate.ofDump(folder.live().resolve("gate")).orElse(null);
        DumpWay way = new DumpWay(copies != null, gate, false);
        return BegunDump.begin(gate, () -> criu.dump(what, way, watch));
    }

    private void finish(BegunDump dump) throws CriuException, IOException {
        try {
            dump.finish();
        } catch (CriuException e) {
            if (e.reason() == FailureReason.GOES_ON && files.failed()) {
                // Why is said there.
                files.copiedBytes();
            }
            if (e.reason() == FailureReason.GOES_ON
                    && prepared.room() != null
                    && prepared.room().wasLow()) {
                throw prepared.room().refusal(0);
            }
            if (e.reason() == FailureReason.GOES_ON && tooLong()) {
                throw new SuspendFailedException(
                        FailureReason.STOP_TOO_LONG,
                        "more than " + request.longestStop().toSeconds() + " s");
            }
            if (copies != null && e.reason() == FailureReason.CRIU_FAILED) {
                throw new NoCopyException("CRIU cannot leave its memory out", e);
            }
            throw e;
        }
    }

    private boolean tooLong() {
        return stopEnd != 0 && System.nanoTime() - stopEnd > 0;
    }

    private List<String> mounts() throws IOException {
        List<String> now = Mounts.ofHost(Proc.mountInfo(record.init().pid()));
        return record.mounts().stream().filter(now::contains).toList();
    }

    private ImageManifest describe(Path images, List<Proc.Stat> processes) throws IOException {
        ImageManifest manifest = DumpManifest.of(record, criu, processes);
        TaskTraits.keep(images, processes);
        new StageFolder(images)
                .writeBesideImages(record.withState(State.SUSPENDED)
                        .withInit(null)
                        .withFreezer(null)
                        .withFreezing(null)
                        .withMounts(mounts())
                        .withImage(new StageJson.Image(manifest.createdAt(), null, processes.size(), Proc.bootId()))
                        .withSuspensions(record.suspensions() + 1));
        return manifest;
    }

    private Map<Path, Long> sizes() {
        Map<Path, Long> sizes = new HashMap<>();
        for (Path each : request.sized()) {
            try {
                BasicFileAttributes is =
                        Files.readAttributes(each, BasicFileAttributes.class, LinkOption.NOFOLLOW_LINKS);
                if (is.isRegularFile()) {
                    sizes.put(each, is.size());
                }
            } catch (IOException e) {
                // It does not exist.
            }
        }
        return sizes;
    }
}
