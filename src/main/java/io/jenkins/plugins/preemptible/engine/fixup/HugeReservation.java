package io.jenkins.plugins.preemptible.engine.fixup;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Mm;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Pagemap;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Vma;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import io.jenkins.plugins.preemptible.engine.content.format.VmaStatus;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * Leaves out the largest reservations of a process whose mappings fill most of its address space, as ThreadSanitizer's
 * do.
 *
 * <ol>
 *   <li>ThreadSanitizer maps what it does not use, about 90 of 128 TiB, without any access, so that no other mapping
 *       gets it.
 *   <li>CRIU reserves as much again before it moves each mapping into its place, and ends its restore with
 *       {@code Unable to reserve memory (136889324593152 bytes)}.
 *   <li>So where private mappings take more than {@value #LIMIT_TIB} TiB, those of 1 TiB and more that are anonymous,
 *       have no access and no page are left out: a touch of them ends in SIGSEGV as before, and the kernel, which looks
 *       for room from the top downwards, finds it long before it would come to them.
 * </ol>
 *
 * Smaller ones stay: allocators reserve them to make them usable later. Source: CRIU 4.2.1, {@code criu/mem.c},
 * {@code prepare_mappings}; LLVM, {@code compiler-rt/lib/tsan/rtl/tsan_platform.h} and {@code CheckAndProtect}.
 */
final class HugeReservation implements ImageFixup {

    private static final int LIMIT_TIB = 56;
    private static final long TIB = 1L << 40;
    private static final long PAGE = 4096;

    @Override
    public String name() {
        return "huge-reservation";
    }

    @Override
    public String why() {
        return "A process has reserved most of its address space only so that nothing else uses it, as ThreadSanitizer does,"
                + " and CRIU would have to reserve as much again; those ranges are left out of the image";
    }

    @Override
    public boolean apply(Path imageFolder) throws IOException {
        return EntryRewrite.rewriteAll(
                imageFolder, "mm-*.img", file -> mm -> reserves(mm) > LIMIT_TIB * TIB ? without(mm, pages(file)) : mm);
    }

    private static long reserves(UnknownFieldSet mm) throws IOException {
        long all = 0;
        for (ByteString each : mm.getField(Mm.VMAS).getLengthDelimitedList()) {
            UnknownFieldSet vma = UnknownFieldSet.parseFrom(each);
            if ((ImageFile.number(vma, Vma.STATUS) & (VmaStatus.ANON_PRIVATE | VmaStatus.FILE_PRIVATE)) != 0) {
                all += ImageFile.number(vma, Vma.END) - ImageFile.number(vma, Vma.START);
            }
        }
        return all;
    }

    private static UnknownFieldSet without(UnknownFieldSet mm, List<Range> pages) throws IOException {
        UnknownFieldSet.Field.Builder kept = UnknownFieldSet.Field.newBuilder();
        for (ByteString each : mm.getField(Mm.VMAS).getLengthDelimitedList()) {
            UnknownFieldSet vma = UnknownFieldSet.parseFrom(each);
            Range range = new Range(ImageFile.number(vma, Vma.START), ImageFile.number(vma, Vma.END));
            boolean reservation = ImageFile.number(vma, Vma.PROTECTION) == 0
                    && (ImageFile.number(vma, Vma.STATUS) & VmaStatus.ANON_PRIVATE) != 0
                    && range.end() - range.start() >= TIB
                    && pages.stream().noneMatch(range::overlaps);
            if (!reservation) {
                kept.addLengthDelimited(each);
            }
        }
        return mm.toBuilder().addField(Mm.VMAS, kept.build()).build();
    }

    private record Range(long start, long end) {
        boolean overlaps(Range other) {
            return start < other.end && other.start < end;
        }
    }

    private static List<Range> pages(Path mm) throws IOException {
        Path file = mm.resolveSibling(mm.getFileName().toString().replaceFirst("^mm-", "pagemap-"));
        List<Range> pages = new ArrayList<>();
        List<UnknownFieldSet> entries = ImageFile.parse(file.getFileName().toString(), Files.readAllBytes(file))
                .entries();
        // The first entry only names the file of the pages.
        for (UnknownFieldSet entry : entries.subList(Math.min(1, entries.size()), entries.size())) {
            long start = ImageFile.number(entry, Pagemap.ADDRESS);
            long count = ImageFile.number(entry, entry.hasField(Pagemap.PAGES) ? Pagemap.PAGES : Pagemap.PAGES_32);
            pages.add(new Range(start, start + count * PAGE));
        }
        return pages;
    }
}
