package io.jenkins.plugins.preemptible.engine.image;

import java.nio.file.Path;
import java.util.Objects;
import java.util.function.BooleanSupplier;

/**
 * Which archive is to be opened, and which one the caller expects it to be.
 *
 * <ol>
 *   <li>{@link #of} gives the simple form: any image that is sealed with this key.
 *   <li>{@link #expecting} refuses an authentic image that is another stage's or an earlier one, before a byte of it
 *       is unpacked.
 *   <li>{@link #withParent} says where the full image of a difference is, when it is not beside it.
 * </ol>
 *
 * @param parent null to look beside the archive, under the name that the difference knows
 * @param stageId null when any will do
 * @param suspension 0 when any will do
 * @param imageId null when any will do
 * @param cancelled asked at each megabyte; true stops the reading with reason CANCELLED
 * @param arrival of an archive that is still being written; null for one that is whole
 */
public record ReadRequest(
        Path archive,
        ImageKey key,
        Path parent,
        String stageId,
        int suspension,
        String imageId,
        BooleanSupplier cancelled,
        Arrival arrival) {

    public ReadRequest {
        Objects.requireNonNull(archive);
        Objects.requireNonNull(key);
    }

    public static ReadRequest of(Path archive, ImageKey key) {
        return new ReadRequest(archive, key, null, null, 0, null, () -> false, null);
    }

    public ReadRequest withParent(Path lastFull) {
        return new ReadRequest(archive, key, lastFull, stageId, suspension, imageId, cancelled, arrival);
    }

    /** Each as far as it is known; see the record's parameters. */
    public ReadRequest expecting(String stage, int suspensionNumber, String image) {
        return new ReadRequest(archive, key, parent, stage, suspensionNumber, image, cancelled, arrival);
    }

    public ReadRequest unless(BooleanSupplier signal) {
        return new ReadRequest(archive, key, parent, stageId, suspension, imageId, signal, arrival);
    }

    /** While the archive is being written; a parent is there as a whole. */
    public ReadRequest arriving(Arrival beingWritten) {
        return new ReadRequest(archive, key, parent, stageId, suspension, imageId, cancelled, beingWritten);
    }
}
