package io.jenkins.plugins.preemptible.engine.zdtm;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonReadFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/**
 * A built copy of the suite, as it comes with CRIU's source.
 *
 * @param folder CRIU's source folder, absolute; the tests are in its {@code test/zdtm/static} and {@code transition}
 */
record ZdtmSuite(Path folder) {

    /** What the suite's own runner excludes, {@code test/zdtm.desc}. */
    private static final List<String> NO_TESTS = List.of("route_rules", "criu-rtc.so");

    // A description is a literal of Python: single quotes, commas at the end, comments.
    private static final JsonMapper DESCRIPTION = JsonMapper.builder()
            .enable(JsonReadFeature.ALLOW_SINGLE_QUOTES, JsonReadFeature.ALLOW_TRAILING_COMMA)
            .enable(JsonReadFeature.ALLOW_YAML_COMMENTS)
            .build();

    /** The folder is no built suite. */
    static final class NoSuiteException extends Exception {
        private static final long serialVersionUID = 1L;

        NoSuiteException(String sentence) {
            super(sentence);
        }
    }

    /**
     * One test.
     *
     * @param name with its folder, such as {@code static/zombie00}
     * @param flavor what the suite's own runner is asked for: {@code h} on the host, {@code ns} in new namespaces
     * @param alone whether no other test may run meanwhile
     */
    record Test(String name, String flavor, boolean alone) {}

    /** @throws NoSuiteException with a sentence for people */
    static ZdtmSuite open(Path given) throws NoSuiteException {
        Path folder = given.toAbsolutePath().normalize();
        ZdtmSuite suite = new ZdtmSuite(folder);
        if (!Files.isRegularFile(folder.resolve("test/zdtm.py"))) {
            throw new NoSuiteException(
                    given + " is no source folder of CRIU: it has no test/zdtm.py; give the folder into"
                            + " which you unpacked CRIU's source package");
        }
        if (!Files.isExecutable(suite.zdtm().resolve("static/zombie00"))) {
            throw new NoSuiteException(
                    "The test suite in " + given + " is not built; run: make -C " + given.resolve("test/zdtm"));
        }
        return suite;
    }

    Path zdtm() {
        return folder.resolve("test/zdtm");
    }

    /** The folder in which a test works. */
    Path workDir(String test) {
        return zdtm().resolve(test).getParent();
    }

    /** A file beside a test, such as its {@code .out}. */
    Path beside(String test, String ending) {
        return workDir(test).resolve(zdtm().resolve(test).getFileName() + ending);
    }

    /**
     * The tests that this host could run, in the order of their names.
     *
     * @param pattern a part of the name, or null for all
     */
    List<Test> tests(Pattern pattern) throws IOException {
        List<Test> tests = new ArrayList<>();
        for (String part : List.of("static", "transition")) {
            try (Stream<Path> files = Files.list(zdtm().resolve(part))) {
                for (Path file :
                        files.sorted(Comparator.comparing(Path::toString)).toList()) {
                    String name = part + "/" + file.getFileName();
                    if (isTest(file)
                            && (pattern == null || pattern.matcher(name).find())) {
                        test(name).ifPresent(tests::add);
                    }
                }
            }
        }
        return tests;
    }

    private static boolean isTest(Path file) {
        String name = file.getFileName().toString();
        return Files.isRegularFile(file, LinkOption.NOFOLLOW_LINKS)
                && Files.isExecutable(file)
                && !name.endsWith(".hook")
                && !name.endsWith(".checkskip")
                && !NO_TESTS.contains(name);
    }

    private Optional<Test> test(String name) throws IOException {
        JsonNode description = description(beside(name, ".desc"));
        List<String> flags = words(description, "flags", "");
        List<String> flavors = words(description, "flavor", "h ns uns");
        List<String> machines = words(description, "arch", Proc.machine());
        if (flags.contains("noauto")
                || !machines.contains(Proc.machine())
                || !(flavors.contains("h") || flavors.contains("ns"))) {
            return Optional.empty();
        }
        return Optional.of(new Test(name, flavors.contains("h") ? "h" : "ns", flags.contains("excl")));
    }

    /** A test by its name. */
    Test find(String name) throws IOException {
        return test(name).orElseThrow(() -> new IOException("there is no test " + name));
    }

    /** Options of criu that the suite gives it with this test, separated by blanks; empty when there are none. */
    String words(String test, String field) throws IOException {
        return description(beside(test, ".desc")).path(field).asText("");
    }

    private static JsonNode description(Path file) throws IOException {
        if (!Files.exists(file) || Files.size(file) == 0) {
            return DESCRIPTION.createObjectNode();
        }
        try {
            return DESCRIPTION.readTree(Files.readString(file).replace("True", "true"));
        } catch (JsonProcessingException e) {
            // One is a program, which describes a test only where its device is named.
            return DESCRIPTION.createObjectNode().put("flags", "noauto");
        }
    }

    private static List<String> words(JsonNode description, String field, String otherwise) {
        return List.of(description.path(field).asText(otherwise).trim().split("\\s+"));
    }
}
