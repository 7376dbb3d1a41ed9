package io.jenkins.plugins.preemptible.engine.testrun;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * The tests that a run leaves out by their tag, as their sources say: Surefire reports nothing of them.
 *
 * <ol>
 *   <li>A tag at the margin is the class's: none of its tests runs.
 *   <li>One further right is a method's, or a class's inside of the class: the next name behind it is meant.
 * </ol>
 */
final class LeftOut {

    private static final Pattern NAME = Pattern.compile("\\b(?:void|class) (\\w+)");

    private LeftOut() {}

    /** Names such as {@code RestartTest} and {@code RestartTest.executorsTaken}, in their order. */
    static List<String> named(Path sources, String tag) throws IOException {
        if (!Files.isDirectory(sources)) {
            return List.of();
        }
        List<String> names = new ArrayList<>();
        try (Stream<Path> files = Files.walk(sources)) {
            for (Path file :
                    files.filter(f -> f.toString().endsWith("Test.java")).toList()) {
                names.addAll(of(file, tag));
            }
        }
        return names.stream().sorted().toList();
    }

    private static List<String> of(Path file, String tag) throws IOException {
        String text = Files.readString(file);
        String type = file.getFileName().toString().replaceFirst("\\.java$", "");
        Matcher tags = Pattern.compile("^( *)@Tag\\(\"" + Pattern.quote(tag) + "\"\\)", Pattern.MULTILINE)
                .matcher(text);
        List<String> names = new ArrayList<>();
        while (tags.find()) {
            if (tags.group(1).isEmpty()) {
                return List.of(type);
            }
            Matcher name = NAME.matcher(text);
            if (name.find(tags.end())) {
                names.add(type + "." + name.group(1));
            }
        }
        return names;
    }
}
