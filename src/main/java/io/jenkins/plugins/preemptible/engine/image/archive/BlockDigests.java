package io.jenkins.plugins.preemptible.engine.image.archive;

import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.CANCELLED;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.INPUT_OUTPUT;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.PARENT_MISSING;
import static io.jenkins.plugins.preemptible.engine.image.ImageException.Reason.PARENT_UNUSABLE;

import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.EntryInfo;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.block.BlockHash;
import io.jenkins.plugins.preemptible.engine.image.block.BlockRuns;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;

/**
 * Finds the digest of each block of some entries of an image, also of those that a difference only refers to.
 *
 * <ol>
 *   <li>The archive is read: blocks that it holds itself get their digests, for the others it is noted which block of
 *       the parent is meant.
 *   <li>The parent is read once from end to end, and a digest of each of its blocks is kept.
 *   <li>The noted ones are looked up. Nothing is written, and no archive is unpacked.
 * </ol>
 *
 * A digest is the first 128 bits of the block's SHA-256. Memory: 16 bytes for each block of 4096 of the wanted entries,
 * and of all of the parent. For one thread.
 */
final class BlockDigests implements ArchiveReader.Receiver {

    private final ReadRequest request;
    private final Set<String> wanted;
    private final Map<String, long[]> found = new TreeMap<>();
    private ImageManifest manifest;
    private List<BlockRuns> references;

    BlockDigests(ReadRequest request, Set<String> wanted) {
        this.request = request;
        this.wanted = Set.copyOf(wanted);
    }

    Map<String, long[]> read() throws ImageException {
        new ArchiveReader(request).read(this);
        if (manifest.isDifference()) {
            long[] parent = parent();
            for (int i = 0; i < references.size(); i++) {
                long[] digests = found.get(manifest.entries().get(i).name());
                if (digests != null && references.get(i) != null) {
                    resolve(references.get(i), digests, parent);
                }
            }
        }
        return found;
    }

    @Override
    public void begin(ImageManifest sealed, List<BlockRuns> runs) {
        manifest = sealed;
        references = runs;
    }

    @Override
    public void entry(int number, EntryInfo entry, EntryContent content) throws IOException {
        if (!wanted.contains(entry.name())) {
            return;
        }
        long[] digests = array(BlockHash.blocks(entry.bytes()));
        BlockRuns runs = references.get(number);
        Positions own = new Positions(runs);
        int length;
        while ((length = content.nextPiece()) > 0) {
            ByteBuffer leaves = ByteBuffer.wrap(BlockHash.leaves(content.piece(), length));
            for (; leaves.hasRemaining(); leaves.position(leaves.position() + BlockHash.DIGEST)) {
                put(digests, own.next(), leaves);
            }
        }
        found.put(entry.name(), digests);
    }

    private static long[] array(long blocks) {
        return new long[Math.toIntExact(2 * blocks)];
    }

    private static void put(long[] digests, int block, ByteBuffer leaf) {
        digests[2 * block] = leaf.getLong(leaf.position());
        digests[2 * block + 1] = leaf.getLong(leaf.position() + Long.BYTES);
    }

    /** Where an entry's own blocks belong, one after the other. */
    private static final class Positions {
        private final BlockRuns runs;
        private int run = -1;
        private int left;
        private int block;

        /** @param runs null where the archive holds all blocks */
        Positions(BlockRuns runs) {
            this.runs = runs;
        }

        int next() {
            while (runs != null && left == 0) {
                run++;
                if (runs.source(run) == BlockRuns.OWN) {
                    left = runs.length(run);
                } else {
                    block += runs.length(run);
                }
            }
            left--;
            return block++;
        }
    }

    private static void resolve(BlockRuns runs, long[] digests, long[] parent) {
        int block = 0;
        for (int run = 0; run < runs.size(); run++) {
            if (runs.source(run) != BlockRuns.OWN) {
                System.arraycopy(parent, 2 * runs.source(run), digests, 2 * block, 2 * runs.length(run));
            }
            block += runs.length(run);
        }
    }

    private long[] parent() throws ImageException {
        Path file = request.parent() != null
                ? request.parent()
                : request.archive()
                        .toAbsolutePath()
                        .resolveSibling(manifest.parent().file());
        if (!Files.isRegularFile(file)) {
            throw new ImageException(PARENT_MISSING, request.archive(), file.toString(), null);
        }
        Parent parent = new Parent();
        try {
            new ArchiveReader(ReadRequest.of(file, request.key()).unless(request.cancelled())).read(parent);
        } catch (ImageException e) {
            // Neither the disk nor the caller's wish is the parent's fault.
            throw List.of(CANCELLED, INPUT_OUTPUT, PARENT_UNUSABLE).contains(e.reason())
                    ? e
                    : new ImageException(PARENT_UNUSABLE, request.archive(), e.finding(), e);
        }
        return parent.digests;
    }

    private final class Parent implements ArchiveReader.Receiver {
        private long[] digests;
        private int block;

        @Override
        public void begin(ImageManifest full, List<BlockRuns> none) throws IOException {
            long blocks = full.entries().stream()
                    .mapToLong(e -> BlockHash.blocks(e.bytes()))
                    .sum();
            boolean fits = references.stream().allMatch(runs -> runs == null || end(runs) <= blocks);
            if (!full.imageId().equals(manifest.parent().imageId()) || full.isDifference() || !fits) {
                throw new ImageException(
                        PARENT_UNUSABLE,
                        request.archive(),
                        "at the place of its full image is " + full.imageId() + ", image "
                                + manifest.parent().imageId() + " is meant",
                        null);
            }
            digests = array(blocks);
        }

        private static long end(BlockRuns runs) {
            long end = 0;
            for (int run = 0; run < runs.size(); run++) {
                end = Math.max(end, runs.source(run) + (long) runs.length(run));
            }
            return end;
        }

        @Override
        public void entry(int number, EntryInfo entry, EntryContent content) throws IOException {
            int length;
            while ((length = content.nextPiece()) > 0) {
                ByteBuffer leaves = ByteBuffer.wrap(BlockHash.leaves(content.piece(), length));
                for (; leaves.hasRemaining(); leaves.position(leaves.position() + BlockHash.DIGEST)) {
                    put(digests, block++, leaves);
                }
            }
        }
    }
}
