package io.jenkins.plugins.preemptible.engine.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The part of a page that a command writes, between two lines that people leave alone.
 *
 * <ol>
 *   <li>The page must have both lines, once and in their order: else nothing is written.
 *   <li>What stands between them is replaced, all else stays as it is.
 *   <li>The page is read before the work that takes minutes, so that a wrong one is refused at once.
 * </ol>
 */
final class MarkedSection {

    static final String BEGIN = "<!-- simulate: begin -->";
    static final String END = "<!-- simulate: end -->";

    private final Path page;
    private final List<String> before;
    private final List<String> after;

    /** @throws RefusedException when the page cannot be read or lacks the two lines */
    MarkedSection(Path page) {
        this.page = page;
        List<String> lines;
        try {
            lines = Files.readAllLines(page);
        } catch (IOException e) {
            throw new RefusedException("The page " + page + " cannot be read; check the path");
        }
        int begin = lines.indexOf(BEGIN);
        int end = lines.indexOf(END);
        if (begin < 0 || end < begin || lines.lastIndexOf(BEGIN) != begin || lines.lastIndexOf(END) != end) {
            throw new RefusedException("The page " + page + " has not once the line '" + BEGIN + "' and after it '" + END
                    + "', so there is no place for the figures; add the two lines");
        }
        before = lines.subList(0, begin + 1);
        after = lines.subList(end, lines.size());
    }

    void replace(List<String> section) throws IOException {
        List<String> lines = new ArrayList<>(before);
        lines.addAll(section);
        lines.addAll(after);
        Files.write(page, lines);
    }
}
