package io.jenkins.plugins.preemptible.engine.image.archive;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.PARENT_UNUSABLE;

import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.EntryInfo;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import io.jenkins.plugins.preemptible.engine.image.block.BlockRuns;
import java.io.Closeable;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * Takes from a full image, while it is read, the blocks that a difference refers to.
 *
 * <ol>
 *   <li>All references are put in the order of the parent's blocks, which is the order in which those come by.
 *   <li>Each piece of the parent goes to every place that refers to a part of it.
 *   <li>What the places then hold is checked by the caller, so the parent's own digests are not computed.
 * </ol>
 *
 * Memory: about 50 bytes a run of references. For one thread.
 */
final class ParentBlocks implements ArchiveReader.Receiver, Closeable {

    private static final int MOST_OPEN = 32;

    private final Path archive;
    private final ImageManifest difference;
    private final UnpackTarget target;
    private final List<Place> places = new ArrayList<>();
    private final long[] order;
    private final Map<Integer, FileChannel> open = new LinkedHashMap<>(16, 0.75f, true);
    private final List<Integer> active = new ArrayList<>();
    private int nextPlace;
    private long block;

    /** One run of references: so many blocks of the parent from this one on go to this position of an entry. */
    private record Place(int entry, int source, int length, long position) {}

    /** @param archive of the difference, for messages */
    ParentBlocks(Path archive, ImageManifest difference, List<BlockRuns> references, UnpackTarget target) {
        this.archive = archive;
        this.difference = difference;
        this.target = target;
        for (int entry = 0; entry < references.size(); entry++) {
            BlockRuns runs = references.get(entry);
            long position = 0;
            for (int run = 0; runs != null && run < runs.size(); run++) {
                if (runs.source(run) != BlockRuns.OWN) {
                    places.add(new Place(entry, runs.source(run), runs.length(run), position));
                }
                position += (long) runs.length(run) * BlockHash.BLOCK;
            }
        }
        order = new long[places.size()];
        for (int i = 0; i < order.length; i++) {
            order[i] = (long) places.get(i).source << 32 | i;
        }
        Arrays.sort(order);
    }

    @Override
    public boolean checksDigests() {
        return false;
    }

    @Override
    public void begin(ImageManifest parent, List<BlockRuns> none) throws IOException {
        if (!parent.imageId().equals(difference.parent().imageId()) || parent.isDifference()) {
            throw new ImageException(
                    PARENT_UNUSABLE,
                    archive,
                    "at the place of its full image is " + parent.imageId() + ", image "
                            + difference.parent().imageId() + " is meant",
                    null);
        }
        long blocks = parent.entries().stream()
                .mapToLong(e -> BlockHash.blocks(e.bytes()))
                .sum();
        if (places.stream().anyMatch(p -> p.source + (long) p.length > blocks)) {
            throw new ImageException(
                    PARENT_UNUSABLE, archive, "its full image has fewer blocks than are referred to", null);
        }
    }

    @Override
    public void entry(int number, EntryInfo entry, EntryContent content) throws IOException {
        int length;
        while ((length = content.nextPiece()) > 0) {
            piece(content.piece(), length);
        }
    }

    private void piece(byte[] piece, int length) throws IOException {
        long end = block + BlockHash.blocks(length);
        while (nextPlace < order.length && order[nextPlace] >>> 32 < end) {
            active.add((int) order[nextPlace++]);
        }
        for (int index : active) {
            Place place = places.get(index);
            long from = Math.max(block, place.source);
            long to = Math.min(end, place.source + (long) place.length);
            int offset = (int) (from - block) * BlockHash.BLOCK;
            long position = place.position + (from - place.source) * BlockHash.BLOCK;
            EntryInfo entry = difference.entries().get(place.entry);
            // A short last block fits a short last block only; anything else is found out by the digest.
            int size =
                    (int) Math.min(Math.min(length, (to - block) * BlockHash.BLOCK) - offset, entry.bytes() - position);
            if (size > 0) {
                target.write(channel(place.entry), entry.name(), piece, offset, size, position, entry.bytes());
            }
        }
        block = end;
        active.removeIf(index -> places.get(index).source + (long) places.get(index).length <= block);
    }

    private FileChannel channel(int entry) throws IOException {
        FileChannel channel = open.get(entry);
        if (channel == null) {
            if (open.size() == MOST_OPEN) {
                Integer oldest = open.keySet().iterator().next();
                open.remove(oldest).close();
            }
            channel = target.open(difference.entries().get(entry).name());
            open.put(entry, channel);
        }
        return channel;
    }

    @Override
    public void close() throws IOException {
        for (FileChannel channel : open.values()) {
            channel.close();
        }
        open.clear();
    }
}
