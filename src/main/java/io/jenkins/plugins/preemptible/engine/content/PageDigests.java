package io.jenkins.plugins.preemptible.engine.content;

import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A digest of each page of a pages file, and of the pages of one process by their addresses.
 *
 * <ol>
 *   <li>While the file streams by, each page is digested: the first 16 bytes of its SHA-256.
 *   <li>{@link #at} gives those of one process, in runs of addresses.
 *   <li>{@link #changed} counts how many pages of another image are not there or not the same.
 * </ol>
 *
 * Memory: 16 bytes for each page of 4096.
 */
public final class PageDigests {

    private final long[] digests;
    private final TreeMap<Long, Run> runs = new TreeMap<>();
    private final MessageDigest sha256;
    private int pages;

    private record Run(int firstPage, int pages) {}

    PageDigests(long pages) {
        this(new long[Math.toIntExact(2 * pages)]);
    }

    private PageDigests(long[] digests) {
        this.digests = digests;
        try {
            this.sha256 = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java has SHA-256", e);
        }
    }

    void add(byte[] content, int length) {
        for (int at = 0; at + AddressSpace.PAGE <= length && 2 * pages < digests.length; at += AddressSpace.PAGE) {
            sha256.update(content, at, AddressSpace.PAGE);
            ByteBuffer digest = ByteBuffer.wrap(sha256.digest());
            digests[2 * pages] = digest.getLong();
            digests[2 * pages + 1] = digest.getLong();
            pages++;
        }
    }

    PageDigests at(List<AddressSpace.Run> addresses) {
        PageDigests view = new PageDigests(digests);
        for (AddressSpace.Run run : addresses) {
            int first = (int) (run.offset() / AddressSpace.PAGE);
            int count = (int) (run.bytes() / AddressSpace.PAGE);
            if (2L * (first + count) <= digests.length) {
                view.runs.put(run.address(), new Run(first, count));
                view.pages += count;
            }
        }
        return view;
    }

    /** How many pages there are. */
    public long pages() {
        return pages;
    }

    /** How many of these pages are not in an earlier image at the same address, or have another content there. */
    public long changed(PageDigests earlier) {
        long changed = 0;
        for (Map.Entry<Long, Run> each : runs.entrySet()) {
            for (int i = 0; i < each.getValue().pages(); i++) {
                int then = earlier.indexOf(each.getKey() + (long) i * AddressSpace.PAGE);
                int now = each.getValue().firstPage() + i;
                if (then < 0
                        || digests[2 * now] != earlier.digests[2 * then]
                        || digests[2 * now + 1] != earlier.digests[2 * then + 1]) {
                    changed++;
                }
            }
        }
        return changed;
    }

    private int indexOf(long address) {
        Map.Entry<Long, Run> run = runs.floorEntry(address);
        if (run == null) {
            return -1;
        }
        long page = (address - run.getKey()) / AddressSpace.PAGE;
        return page < run.getValue().pages() ? run.getValue().firstPage() + (int) page : -1;
    }
}
