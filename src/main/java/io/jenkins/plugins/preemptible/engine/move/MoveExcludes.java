package io.jenkins.plugins.preemptible.engine.move;

import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;

/**
 * What of a workspace does not travel: patterns as Ant has them, such as {@code **}{@code /target/cache/**}.
 *
 * <ol>
 *   <li>{@code **} stands for any folders, {@code *} for any part of a name, {@code ?} for one character; a slash at the end
 *       for all that is below. A pattern that matches a folder leaves out all of it.
 *   <li>They count from the workspace: what lies elsewhere, such as the temporary folder of its steps, always travels.
 * </ol>
 *
 * Pure. Source: the manual of Apache Ant, "Directory-based Tasks", "Patterns".
 */
public final class MoveExcludes {

    /** More are refused: each is compared with each file. */
    public static final int MOST = 100;

    public static final MoveExcludes NONE = new MoveExcludes(List.of());

    private final List<String> patterns;
    private final List<Pattern> compiled = new ArrayList<>();

    private MoveExcludes(List<String> patterns) {
        this.patterns = List.copyOf(patterns);
        patterns.forEach(each -> compiled.add(Pattern.compile(regex(each))));
    }

    /** Names that have nothing in common: who leaves out all of them in the workspace leaves out everything. */
    private static final List<String> ANY = List.of("a", "no-such.file", "0_Z");

    /**
     * @throws IllegalArgumentException with a sentence for people, when one is none or leaves out everything, or there are
     *     too many
     */
    public static MoveExcludes of(List<String> patterns) {
        if (patterns.size() > MOST) {
            throw new IllegalArgumentException("At most " + MOST + " patterns, not " + patterns.size() + ".");
        }
        for (String each : patterns) {
            Objects.requireNonNull(each);
            List<String> names = List.of(each.split("/", -1));
            if (each.isBlank()
                    || each.startsWith("/")
                    || each.indexOf('\0') >= 0
                    || names.contains("..")
                    || names.contains(".")
                    || names.stream().anyMatch(n -> n.contains("**") && !n.equals("**"))) {
                throw new IllegalArgumentException("'" + each
                        + "' is no pattern: it counts from the workspace, and '**' stands for whole folders.");
            }
        }
        MoveExcludes all = new MoveExcludes(patterns);
        for (int i = 0; i < patterns.size(); i++) {
            Pattern compiled = all.compiled.get(i);
            boolean folders = patterns.get(i).contains("**") && patterns.get(i).matches("[*/]*");
            if (folders || ANY.stream().allMatch(name -> compiled.matcher(name).matches())) {
                throw new IllegalArgumentException(
                        "'" + patterns.get(i) + "' leaves out everything: a stage would move with an empty workspace.");
            }
        }
        return all;
    }

    /** From one text, a pattern a line or between commas. */
    public static MoveExcludes parse(String text) {
        return of(
                text == null
                        ? List.of()
                        : List.of(text.split("[,\\n\\r]")).stream()
                                .map(String::trim)
                                .filter(each -> !each.isEmpty())
                                .toList());
    }

    public List<String> patterns() {
        return patterns;
    }

    /**
     * Whether a file or folder stays behind, or lies in one that does.
     *
     * @param path absolute, or not
     */
    public boolean contain(Path workspace, Path path) {
        if (compiled.isEmpty() || !path.startsWith(workspace) || path.equals(workspace)) {
            return false;
        }
        Path below = workspace.relativize(path);
        for (int names = 1; names <= below.getNameCount(); names++) {
            String text = below.subpath(0, names).toString();
            if (compiled.stream().anyMatch(each -> each.matcher(text).matches())) {
                return true;
            }
        }
        return false;
    }

    // One that ends with any folders matches the folder before them as well.
    private static String regex(String pattern) {
        String whole = pattern.endsWith("/") ? pattern + "**" : pattern;
        StringBuilder regex = new StringBuilder();
        List<String> names = List.of(whole.split("/"));
        for (int i = 0; i < names.size(); i++) {
            boolean last = i == names.size() - 1;
            if (names.get(i).equals("**")) {
                regex.append(last ? (i == 0 ? ".+" : "(?:/.*)?") : (i == 0 ? "(?:.*/)?" : "/(?:.*/)?"));
            } else {
                boolean afterFolders = i > 0 && names.get(i - 1).equals("**");
                regex.append(i > 0 && !afterFolders ? "/" : "");
                names.get(i)
                        .chars()
                        .forEach(c -> regex.append(
                                c == '*' ? "[^/]*" : c == '?' ? "[^/]" : Pattern.quote(Character.toString(c))));
            }
        }
        return "(?s)" + regex;
    }
}
