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
 *   <li>A wrong page is refused before the work that takes minutes; what people changed meanwhile is kept.
 * </ol>
 */
final class MarkedSection {

    static final String BEGIN = "<!-- simulate: begin -->";
    static final String END = "<!-- simulate: end -->";

    private final Path page;

    /** @throws RefusedException when the page cannot be read or lacks the two lines */
    MarkedSection(Path page) {
        this.page = page;
        Marked.of(page);
    }

    /** @throws RefusedException when the page has lost the two lines meanwhile */
    void replace(List<String> section) throws IOException {
        Marked now = Marked.of(page);
        List<String> lines = new ArrayList<>(now.lines.subList(0, now.begin + 1));
        lines.addAll(section);
        lines.addAll(now.lines.subList(now.end, now.lines.size()));
        Files.write(page, lines);
    }

    private record Marked(List<String> lines, int begin, int end) {
        static Marked of(Path page) {
            List<String> lines;
            try {
                lines = Files.readAllLines(page);
            } catch (IOException e) {
                throw new RefusedException("The page " + page + " cannot be read; check the path");
            }
            int begin = lines.indexOf(BEGIN);
            int end = lines.indexOf(END);
            if (begin < 0 || end < begin || lines.lastIndexOf(BEGIN) != begin || lines.lastIndexOf(END) != end) {
                throw new RefusedException("The page " + page + " has not once the line '" + BEGIN + "' and after it '"
                        + END + "', so there is no place for the figures; add the two lines");
            }
            return new Marked(lines, begin, end);
        }
    }
}
