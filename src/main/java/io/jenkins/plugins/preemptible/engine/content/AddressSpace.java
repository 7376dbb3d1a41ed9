package io.jenkins.plugins.preemptible.engine.content;

import io.jenkins.plugins.preemptible.engine.content.format.ContentException;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Mm;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Pagemap;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.PagemapHead;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Vma;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import io.jenkins.plugins.preemptible.engine.content.format.ImageKind;
import io.jenkins.plugins.preemptible.engine.content.format.Message;
import io.jenkins.plugins.preemptible.engine.content.format.VmaStatus;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/**
 * The mappings of one process and where its pages lie in the image.
 *
 * <ol>
 *   <li>A pagemap is a head, which names the pages file, and runs of pages in order of their addresses.
 *   <li>The pages of the runs that are marked as present lie in the pages file one after the other.
 *   <li>An address is found by counting the pages before it; memory that was never touched has none.
 * </ol>
 *
 * Source: CRIU 4.2.1, {@code criu/pagemap.c}.
 */
final class AddressSpace {

    /** Of every architecture that is supported here. */
    static final int PAGE = 4096;

    private final List<Mapping> mappings;
    private final List<Run> runs;
    private final long pagesId;

    private record Mapping(long start, long end, MemoryKind kind) {}

    /** Pages in a row that are in the image, from one address and one offset of the pages file on. */
    record Run(long address, long bytes, long offset) {
        long end() {
            return address + bytes;
        }
    }

    private AddressSpace(List<Mapping> mappings, List<Run> runs, long pagesId) {
        this.mappings = mappings;
        this.runs = runs;
        this.pagesId = pagesId;
    }

    /** A process's. */
    static AddressSpace of(Message mm, ImageFile pagemap) throws ContentException {
        List<Mapping> mappings = new ArrayList<>();
        for (Message vma : mm.messages(Mm.VMAS)) {
            if ((vma.number(Vma.STATUS) & VmaStatus.GUARD) == 0) {
                mappings.add(mapping(vma, mm.number(Mm.STACK_START)));
            }
        }
        return of(mappings, pagemap);
    }

    // CRIU marks a stack only when it grows down still; Linux tells where that of the first thread begins.
    private static Mapping mapping(Message vma, long stackStart) {
        long start = vma.number(Vma.START);
        long end = vma.number(Vma.END);
        boolean stack = start <= stackStart && stackStart < end;
        return new Mapping(start, end, stack ? MemoryKind.STACK : MemoryKind.of(vma.number(Vma.STATUS)));
    }

    /** That of shared memory, in which addresses are offsets. */
    static AddressSpace ofShared(ImageFile pagemap) throws ContentException {
        return of(List.of(), pagemap);
    }

    private static AddressSpace of(List<Mapping> mappings, ImageFile pagemap) throws ContentException {
        List<Message> entries = pagemap.messages();
        if (entries.isEmpty() || !pagemap.is(ImageKind.PAGEMAP)) {
            throw new ContentException(pagemap.name(), "it has no head of a pagemap", null);
        }
        List<Run> runs = new ArrayList<>();
        long offset = 0;
        for (Message entry : entries.subList(1, entries.size())) {
            long pages = entry.has(Pagemap.PAGES) ? entry.number(Pagemap.PAGES) : entry.number(Pagemap.PAGES_32);
            boolean present = entry.has(Pagemap.FLAGS)
                    ? (entry.number(Pagemap.FLAGS) & Pagemap.PRESENT) != 0
                    : !entry.truth(Pagemap.IN_PARENT);
            if (pages < 0 || pages > Long.MAX_VALUE / PAGE - offset) {
                throw new ContentException(pagemap.name(), "it has a run of " + pages + " pages", null);
            }
            if (present) {
                runs.add(new Run(entry.number(Pagemap.ADDRESS), pages * PAGE, offset));
                offset += pages * PAGE;
            }
        }
        runs.sort(Comparator.comparingLong(Run::address));
        return new AddressSpace(mappings, runs, entries.get(0).number(PagemapHead.PAGES_ID));
    }

    /** The number in the name of the pages file. */
    long pagesId() {
        return pagesId;
    }

    List<Run> runs() {
        return runs;
    }

    long storedBytes() {
        return runs.stream().mapToLong(Run::bytes).sum();
    }

    /**
     * Where the bytes of a range of addresses lie, each run with the part that is wanted of it.
     *
     * <p>Less than the whole range comes back where the image does not have all of it.
     */
    List<Run> find(long start, long end) {
        List<Run> found = new ArrayList<>();
        for (Run run : runs) {
            long from = Math.max(start, run.address());
            long to = Math.min(end, run.end());
            if (from < to) {
                found.add(new Run(from, to - from, run.offset() + from - run.address()));
            }
        }
        return found;
    }

    /** How much of each kind is mapped and stored. Both lists are in order of addresses. */
    Map<MemoryKind, MemoryContent> memory() {
        Map<MemoryKind, MemoryContent> memory = new EnumMap<>(MemoryKind.class);
        int next = 0;
        for (Mapping mapping : mappings) {
            while (next < runs.size() && runs.get(next).end() <= mapping.start()) {
                next++;
            }
            long stored = 0;
            for (int i = next; i < runs.size() && runs.get(i).address() < mapping.end(); i++) {
                Run run = runs.get(i);
                stored += Math.min(run.end(), mapping.end()) - Math.max(run.address(), mapping.start());
            }
            memory.merge(
                    mapping.kind(), new MemoryContent(mapping.end() - mapping.start(), stored), MemoryContent::plus);
        }
        return memory;
    }
}
