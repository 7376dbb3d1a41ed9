package io.jenkins.plugins.preemptible.engine.image;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * What is to be sealed, and how.
 *
 * <ol>
 *   <li>{@link #of} gives the simple form: an image folder into a full image.
 *   <li>{@link #preserving} adds files of the stage's that do not belong to CRIU's image.
 *   <li>{@link #against} lets what did not change since the last full image be stored by reference; {@link #apart} where that
 *       image was taken elsewhere.
 * </ol>
 *
 * @param imageDir a flat folder of regular files, as {@code criu dump -D} leaves it; must not change meanwhile
 * @param archive in a folder that exists; made readable by its owner only
 * @param manifest what the caller knows of the image; the rest is filled in
 * @param preserved absolute paths of files and folders to pack along; one that does not exist is left out
 * @param places where what belongs at a preserved path lies meanwhile, such as a copy of it; a path without one lies where
 *     it belongs
 * @param touched null where preserved files may change after they were packed; else all are looked at again before the
 *     archive is sealed, and a change refuses it. Of a path for which this is true only its time may change
 * @param leftOut files and folders at and below the preserved paths that are not packed, nor what is below them; null for none
 * @param index the private file with the block hashes of the last full image; written with each full image, and gone
 *     or stale it costs a full image, nothing else; null to write full images without one
 * @param parent the archive of the last full image, in the same folder as the new one; null for the one that the index
 *     is of
 * @param base the index of a full image that lies elsewhere, which a difference refers to without seeing it; its reader has
 *     to have it beside the difference; null when the parent lies beside, as {@code index} and {@code parent} say
 * @param difference whether what did not change may be stored by reference to the parent; without a usable parent, and
 *     when more than half changed, a full image is written all the same
 * @param workers threads that hash and compress, from 1 to 16; the calling thread encrypts and writes
 * @param cancelled asked at each megabyte, from the calling thread; true stops the packing with reason CANCELLED
 */
public record WriteRequest(
        Path imageDir,
        Path archive,
        ImageKey key,
        ImageManifest manifest,
        List<Path> preserved,
        Map<Path, Path> places,
        Predicate<Path> touched,
        Predicate<Path> leftOut,
        Path index,
        Path parent,
        Path base,
        boolean difference,
        int workers,
        BooleanSupplier cancelled) {

    private static final int MOST_WORKERS = 16;

    public WriteRequest {
        Objects.requireNonNull(imageDir);
        Objects.requireNonNull(archive);
        Objects.requireNonNull(key);
        Objects.requireNonNull(manifest);
        preserved = preserved == null ? List.of() : List.copyOf(preserved);
        places = places == null ? Map.of() : Map.copyOf(places);
        workers = Math.max(1, Math.min(MOST_WORKERS, workers));
    }

    public static WriteRequest of(Path imageDir, Path archive, ImageKey key, ImageManifest manifest) {
        return new WriteRequest(
                imageDir,
                archive,
                key,
                manifest,
                List.of(),
                Map.of(),
                null,
                null,
                null,
                null,
                null,
                false,
                // Each holds a few megabytes, and beyond four the encrypting thread is the slowest.
                Math.min(4, Runtime.getRuntime().availableProcessors()),
                () -> false);
    }

    public WriteRequest preserving(List<Path> paths) {
        return with(draft -> draft.preserved = paths);
    }

    /** @param copies absolute paths of copies, by the preserved paths that they are copies of */
    public WriteRequest lying(Map<Path, Path> copies) {
        return with(draft -> draft.places = copies);
    }

    /**
     * Refuses with reason CHANGED_MEANWHILE whatever changes in the preserved paths until the archive is sealed.
     *
     * @param onlyTouched paths whose time may change
     */
    public WriteRequest unchanged(Predicate<Path> onlyTouched) {
        return with(draft -> draft.touched = onlyTouched);
    }

    /** @param files absolute paths for which it is true, and what is below them, stay behind without a word */
    public WriteRequest leavingOut(Predicate<Path> files) {
        return with(draft -> draft.leftOut = files);
    }

    /** A full image, whose index is written for later differences. */
    public WriteRequest indexed(Path indexFile) {
        return with(draft -> draft.refer(indexFile, parent, null, false));
    }

    /** @param lastFull null for the one that the index is of */
    public WriteRequest against(Path indexFile, Path lastFull) {
        return with(draft -> draft.refer(indexFile, lastFull, null, true));
    }

    /**
     * A difference to a full image that is not here any more; a full image when there is no such index.
     *
     * @param indexFile written when it becomes a full one
     * @param apart the index that was written with the other one; null when there is none
     */
    public WriteRequest apart(Path indexFile, Path apart) {
        return with(draft -> draft.refer(indexFile, null, apart, apart != null));
    }

    public WriteRequest withWorkers(int threads) {
        return with(draft -> draft.workers = threads);
    }

    public WriteRequest unless(BooleanSupplier signal) {
        return with(draft -> draft.cancelled = signal);
    }

    private WriteRequest with(Consumer<Draft> change) {
        Draft draft = new Draft();
        change.accept(draft);
        return new WriteRequest(
                imageDir,
                archive,
                key,
                manifest,
                draft.preserved,
                draft.places,
                draft.touched,
                draft.leftOut,
                draft.index,
                draft.parent,
                draft.base,
                draft.difference,
                draft.workers,
                draft.cancelled);
    }

    /** This request's values, to be changed before they become another one. */
    private final class Draft {
        private List<Path> preserved = preserved();
        private Map<Path, Path> places = places();
        private Predicate<Path> touched = touched();
        private Predicate<Path> leftOut = leftOut();
        private Path index = index();
        private Path parent = parent();
        private Path base = base();
        private boolean difference = difference();
        private int workers = workers();
        private BooleanSupplier cancelled = cancelled();

        private void refer(Path toIndex, Path toParent, Path toBase, boolean asDifference) {
            index = toIndex;
            parent = toParent;
            base = toBase;
            difference = asDifference;
        }
    }
}
