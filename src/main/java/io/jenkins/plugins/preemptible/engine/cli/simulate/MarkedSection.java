package io.jenkins.plugins.preemptible.engine.cli.simulate;

import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
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
public final class MarkedSection {

    private final Path page;
    private final String name;

    /**
     * @param name of the section, which its two lines have
     * @throws RefusedException when the page cannot be read or lacks the two lines
     */
    public MarkedSection(Path page, String name) {
        this.page = page;
        this.name = name;
        Marked.of(page, name);
    }

    /** The line before the section. */
    public static String begin(String name) {
        return "<!-- " + name + ": begin -->";
    }

    /** The line after it. */
    public static String end(String name) {
        return "<!-- " + name + ": end -->";
    }

    /** @throws RefusedException when the page has lost the two lines meanwhile */
    public void replace(List<String> section) throws IOException {
        Marked now = Marked.of(page, name);
        List<String> lines = new ArrayList<>(now.lines.subList(0, now.begin + 1));
        lines.addAll(section);
        lines.addAll(now.lines.subList(now.end, now.lines.size()));
        Files.write(page, lines);
    }

    private record Marked(List<String> lines, int begin, int end) {
        static Marked of(Path page, String name) {
            List<String> lines;
            try {
                lines = Files.readAllLines(page);
            } catch (IOException e) {
                throw new RefusedException("The page " + page + " cannot be read; check the path");
            }
            String first = MarkedSection.begin(name);
            String last = MarkedSection.end(name);
            int begin = lines.indexOf(first);
            int end = lines.indexOf(last);
            if (begin < 0 || end < begin || lines.lastIndexOf(first) != begin || lines.lastIndexOf(last) != end) {
                throw new RefusedException("The page " + page + " has not once the line '" + first + "' and after it '"
                        + last + "', so there is no place for the figures; add the two lines");
            }
            return new Marked(lines, begin, end);
        }
    }
}
