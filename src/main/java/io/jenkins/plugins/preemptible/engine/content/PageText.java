package io.jenkins.plugins.preemptible.engine.content;

import io.jenkins.plugins.preemptible.engine.content.format.ContentException;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.Mm;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import io.jenkins.plugins.preemptible.engine.content.format.ImageKind;
import io.jenkins.plugins.preemptible.engine.content.format.KeptFiles;
import io.jenkins.plugins.preemptible.engine.content.format.Message;
import java.util.ArrayList;
import java.util.List;

/** One text in the memory of a process (its arguments or its environment), collected while the pages stream by. */
final class PageText {

    // The kernel lets arguments and environment have 6 MB together; on a screen this is more than enough.
    private static final long LONGEST = 256 * 1024;

    private final KeptFiles.PageRange range;
    private final byte[] bytes;

    private PageText(KeptFiles.PageRange range) {
        this.range = range;
        this.bytes = new byte[(int) range.bytes()];
    }

    /**
     * The texts that lie in one file of pages.
     *
     * @param kept with the page maps, which come before the pages
     */
    static List<PageText> of(KeptFiles kept, long pagesId, boolean environment) throws ContentException {
        List<PageText> wanted = new ArrayList<>();
        for (String name : kept.names("mm-")) {
            Message mm = kept.message(name, ImageKind.MM).orElse(null);
            String pagemap = "pagemap-" + number(name) + ".img";
            if (mm == null || kept.content(pagemap) == null) {
                continue;
            }
            AddressSpace space = space(kept, pagemap);
            if (space.pagesId() == pagesId) {
                for (KeptFiles.PageRange range : texts(mm, space, environment)) {
                    wanted.add(new PageText(range));
                }
            }
        }
        return wanted;
    }

    private static List<KeptFiles.PageRange> texts(Message mm, AddressSpace space, boolean environment) {
        List<KeptFiles.PageRange> ranges = new ArrayList<>(text(space, mm.number(Mm.ARG_START), mm.number(Mm.ARG_END)));
        if (environment) {
            ranges.addAll(text(space, mm.number(Mm.ENV_START), mm.number(Mm.ENV_END)));
        }
        return ranges;
    }

    /** Where a text lies; of a long one only the first part is read. */
    static List<KeptFiles.PageRange> text(AddressSpace space, long start, long end) {
        return space.find(start, Math.min(end, start + LONGEST)).stream()
                .map(run -> new KeptFiles.PageRange(space.pagesId(), run.offset(), run.bytes()))
                .toList();
    }

    /** Where it ends in the file of pages. */
    long end() {
        return range.offset() + range.bytes();
    }

    /** Copies its part of a piece of the file that begins at this offset. */
    void take(byte[] chunk, int length, long offset) {
        long from = Math.max(range.offset(), offset);
        long to = Math.min(range.offset() + range.bytes(), offset + length);
        if (from < to) {
            System.arraycopy(chunk, (int) (from - offset), bytes, (int) (from - range.offset()), (int) (to - from));
        }
    }

    void keepIn(KeptFiles kept) {
        kept.keep(range, bytes);
    }

    static AddressSpace space(KeptFiles kept, String pagemap) throws ContentException {
        ImageFile file = kept.file(pagemap, ImageKind.PAGEMAP).orElseThrow();
        return AddressSpace.ofShared(file);
    }

    /** The number in a file's name. */
    static long number(String name) {
        return Long.parseLong(name.replaceAll("\\D", ""));
    }
}
