package io.jenkins.plugins.preemptible.engine.image.archive;

import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.Parent;
import io.jenkins.plugins.preemptible.engine.image.WriteRequest;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import io.jenkins.plugins.preemptible.engine.image.block.BlockIndex;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/**
 * Whether an image is written as a difference to the last full one.
 *
 * <ol>
 *   <li>The full image has to be there, open with this key, have its ends, and be the one that the index is of.
 *   <li>It must lie in the same folder, and not be the file that the new image replaces; or it was taken elsewhere, and the
 *       request has its index.
 *   <li>When more than half changed, a full image is written: the next difference then is small again.
 * </ol>
 *
 * @param blocks of the full image; null when there is none to refer to
 * @param named how the difference will call it
 */
record ParentChoice(BlockIndex blocks, Parent named) {

    private static final ParentChoice NONE = new ParentChoice(null, null);

    static ParentChoice of(WriteRequest request, Path archive) {
        if (request.index() == null || !request.difference()) {
            return NONE;
        }
        if (request.base() != null) {
            return apart(request, archive);
        }
        Optional<BlockIndex> index = BlockIndex.read(request.index(), request.key());
        Path parent = request.parent() != null
                ? request.parent()
                : index.map(BlockIndex::archive).orElse(null);
        if (index.isEmpty() || !Files.isRegularFile(parent)) {
            return NONE;
        }
        try {
            // A reader looks for it there, and moving a folder moves both.
            boolean beside = parent.toAbsolutePath()
                    .getParent()
                    .toRealPath()
                    .equals(archive.getParent().toRealPath());
            if (!beside || (Files.exists(archive) && Files.isSameFile(parent, archive))) {
                return NONE;
            }
            ImageManifest manifest = ImageArchive.manifestOf(parent, request.key());
            boolean same = manifest.imageId().equals(index.get().imageId())
                    && !manifest.isDifference()
                    && String.valueOf(manifest.stageId())
                            .equals(String.valueOf(request.manifest().stageId()));
            return same
                    ? new ParentChoice(
                            index.get(),
                            new Parent(manifest.imageId(), parent.getFileName().toString()))
                    : NONE;
        } catch (IOException e) {
            // With any defect of the parent: a full image needs none.
            return NONE;
        }
    }

    /** The index opens with this key, which no other stage has, so it is one of this stage's own images. */
    private static ParentChoice apart(WriteRequest request, Path archive) {
        return BlockIndex.read(request.base(), request.key())
                .filter(index -> !index.archive().getFileName().equals(archive.getFileName()))
                .map(index -> new ParentChoice(
                        index,
                        new Parent(
                                index.imageId(), index.archive().getFileName().toString())))
                .orElse(NONE);
    }

    boolean isWorthIt(long ownBytes, long allBytes) {
        return blocks != null && ownBytes <= allBytes / 2 && BlockIndex.fits(BlockHash.blocks(allBytes));
    }
}
