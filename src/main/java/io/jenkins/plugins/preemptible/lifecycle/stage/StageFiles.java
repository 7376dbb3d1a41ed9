package io.jenkins.plugins.preemptible.lifecycle.stage;

import edu.umd.cs.findbugs.annotations.CheckForNull;
import hudson.XmlFile;
import hudson.util.XStream2;
import java.io.File;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import java.util.logging.Level;
import java.util.logging.Logger;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.apache.commons.codec.digest.DigestUtils;

/**
 * The records of stages on the controller's disk, one file a stage in {@code preemptible-stages/}.
 *
 * <ol>
 *   <li>{@link #read} gives every record that can be read; a file that cannot be is put aside and named in the log, and
 *       concerns its own stage alone.
 *   <li>{@link #write} replaces one stage's file, or removes it when nothing of the stage is to be kept.
 *   <li>Earlier versions had one file for all stages, {@code preemptible-stages.xml}: it is taken over once and renamed.
 * </ol>
 *
 * Not safe for several threads; {@link StageRegistry} calls it under its own monitor.
 */
final class StageFiles {

    private static final Logger LOGGER = Logger.getLogger(StageFiles.class.getName());
    private static final String SUFFIX = ".xml";
    /** What {@link io.jenkins.plugins.preemptible.engine.api.StageId#create} makes, and never a name that a system reserves. */
    private static final Pattern PLAIN = Pattern.compile("[a-z0-9][a-z0-9-]{0,53}-[0-9a-f]{8}");

    /** Names classes as every version has done: what is written here can be read by the version before. */
    static final XStream2 XSTREAM = new XStream2();

    static {
        String room = "io.jenkins.plugins.preemptible.lifecycle.";
        XSTREAM.alias(room + "StageFiles$Kept", Kept.class);
        XSTREAM.alias(room + "StageFiles$Stored", Stored.class);
        XSTREAM.alias(room + "StageRecord", StageRecord.class);
        XSTREAM.addCompatibilityAlias(room + "StageRegistry$Stored", Stored.class);
    }

    private final Path folder;
    private final Path old;

    /** @param root the folder that holds {@code preemptible-stages/} */
    StageFiles(File root) {
        folder = root.toPath().resolve("preemptible-stages");
        old = root.toPath().resolve("preemptible-stages.xml");
    }

    /** What is kept of one stage; the root element of its file. Any of the three may be null. */
    static final class Kept {
        /** Has begun and not ended. */
        @CheckForNull
        StageRecord stage;
        /** Has ended, and its agent has to be cleaned of it. */
        @CheckForNull
        StageRecord leftover;
        /** Has ended without being restored; its image and key are kept. */
        @CheckForNull
        StageRecord kept;

        private Stream<StageRecord> records() {
            return Stream.of(stage, leftover, kept).filter(record -> record != null);
        }

        private boolean isEmpty() {
            return records().findAny().isEmpty();
        }
    }

    /** All that can be read, in no order. Never fails. */
    List<Kept> read() {
        List<Kept> all = new ArrayList<>();
        Map<String, Path> found = new HashMap<>();
        if (Files.isDirectory(folder)) {
            try (Stream<Path> entries = Files.list(folder)) {
                entries.filter(file -> file.getFileName().toString().endsWith(SUFFIX))
                        .forEach(file -> found.put(file.getFileName().toString(), file));
            } catch (IOException | RuntimeException x) {
                LOGGER.log(
                        Level.SEVERE,
                        x,
                        () -> "Cannot list " + folder + ": suspended stages are unknown and their"
                                + " builds will wait for ever. Make it readable for Jenkins and restart it, or abort those builds");
            }
        }
        found.forEach((name, file) -> readable(file, Kept.class, kept -> {
            if (kept.isEmpty()) {
                throw new IllegalArgumentException("there is no stage in it");
            }
            kept.records().forEach(record -> {
                record.complete();
                if (!name.equals(fileName(record.id))) {
                    throw new IllegalArgumentException("it is of another stage, " + record.id);
                }
            });
            all.add(kept);
        }));
        if (Files.exists(old)) {
            readable(old, Stored.class, stored -> takeOver(stored, all, found));
        }
        return all;
    }

    /** Reads one file; whatever is wrong with it is logged, and it is put aside. */
    private static <T> void readable(Path file, Class<T> type, Consumer<T> use) {
        try {
            use.accept(type.cast(xml(file).read()));
        } catch (IOException | RuntimeException | LinkageError | StackOverflowError x) {
            Path aside = file.resolveSibling(file.getFileName() + ".unreadable-" + System.currentTimeMillis());
            boolean moved = file.toFile().renameTo(aside.toFile());
            LOGGER.log(
                    Level.SEVERE,
                    x,
                    () -> "Cannot read " + file + ": what it says of suspended stages is unknown and"
                            + " their builds will wait for ever; other stages are not concerned. Repair "
                            + (moved ? aside : file)
                            + ", put it back with Jenkins stopped, and start Jenkins again; or abort"
                            + " those builds");
        }
    }

    /** A record of its own file is newer than the one in the file of all stages, which a crash may have left. */
    private void takeOver(Stored stored, List<Kept> all, Map<String, Path> found) {
        Map<String, Kept> byId = new HashMap<>();
        boolean[] whole = {true};
        for (int kind = 0; kind < Stored.KINDS; kind++) {
            for (StageRecord record : stored.of(kind)) {
                try {
                    record.complete();
                    record.clean();
                    if (!found.containsKey(fileName(record.id))) {
                        Kept kept = byId.computeIfAbsent(record.id, id -> new Kept());
                        kept.stage = kind == 0 ? record : kept.stage;
                        kept.leftover = kind == 1 ? record : kept.leftover;
                        kept.kept = kind == 2 ? record : kept.kept;
                    }
                } catch (RuntimeException x) {
                    LOGGER.log(
                            Level.SEVERE,
                            x,
                            () -> "One stage of " + old + " is not understood, its build will wait"
                                    + " for ever; abort it");
                }
            }
        }
        byId.forEach((id, kept) -> {
            all.add(kept);
            try {
                write(id, kept);
            } catch (IOException x) {
                whole[0] = false;
                LOGGER.log(Level.SEVERE, x, () -> "Cannot write the record of stage " + id + " into " + folder);
            }
        });
        // Else the next start takes over what is missing.
        if (whole[0] && !old.toFile().renameTo(new File(old + ".taken-over"))) {
            LOGGER.log(Level.WARNING, "Cannot rename {0}, which is not needed any more", old);
        }
    }

    /**
     * Puts on disk what is known of one stage.
     *
     * @throws IOException when that cannot be written; the file is as it was before
     */
    void write(String id, Kept kept) throws IOException {
        Path file = folder.resolve(fileName(id));
        if (kept.isEmpty()) {
            Files.deleteIfExists(file);
            return;
        }
        Files.createDirectories(folder);
        try {
            xml(file).write(kept);
        } catch (RuntimeException x) {
            // XStream's own, for what XML cannot hold.
            throw new IOException("cannot write " + file, x);
        }
    }

    /** The name of a stage's file; of any id, and never of two. */
    static String fileName(String id) {
        return (PLAIN.matcher(id).matches()
                        ? id
                        : "other-" + DigestUtils.sha256Hex(id.getBytes(StandardCharsets.UTF_8)))
                + SUFFIX;
    }

    @Override
    public String toString() {
        return folder.toString();
    }

    private static XmlFile xml(Path file) {
        return new XmlFile(XSTREAM, file.toFile());
    }

    /** The root element of the one file of earlier versions. */
    static final class Stored {
        static final int KINDS = 3;

        StageRecord[] stages = {};
        StageRecord[] leftovers = {};
        StageRecord[] kept = {};

        private List<StageRecord> of(int kind) {
            StageRecord[] records = kind == 0 ? stages : kind == 1 ? leftovers : kept;
            return records == null
                    ? List.of()
                    : Stream.of(records).filter(record -> record != null).toList();
        }
    }
}
