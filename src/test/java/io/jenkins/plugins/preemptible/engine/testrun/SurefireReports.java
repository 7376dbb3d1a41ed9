package io.jenkins.plugins.preemptible.engine.testrun;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import javax.xml.parsers.DocumentBuilder;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.parsers.ParserConfigurationException;
import org.w3c.dom.Element;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;
import org.xml.sax.SAXException;

/** Sums up the XML reports of Surefire. Not thread-safe. */
final class SurefireReports {

    /** Surefire tells a reason as an attribute, or only thus: {@code org.opentest4j.TestAbortedException: why}. */
    private static final Pattern TOLD_AS_TEXT = Pattern.compile("^\\s*[A-Za-z0-9_.$]+: (.*)");

    private static final String ASSUMPTION = "Assumption failed: ";

    private final List<String> lines = new ArrayList<>();
    private int passed;
    private int failed;
    private int skipped;

    /** Reads all reports of the folders, in the order of their names; a folder that is not there has none. */
    static SurefireReports read(Path... folders) throws IOException {
        SurefireReports all = new SurefireReports();
        for (Path folder : folders) {
            if (!Files.isDirectory(folder)) {
                continue;
            }
            try (Stream<Path> files = Files.list(folder)) {
                for (Path file : files.filter(f -> f.getFileName().toString().matches("TEST-.*\\.xml"))
                        .sorted()
                        .toList()) {
                    all.add(file);
                }
            }
        }
        return all;
    }

    /** One line for each test that was skipped, failed, or passed at the second try only; with its reason. */
    List<String> lines() {
        return List.copyOf(lines);
    }

    int passed() {
        return passed;
    }

    int failed() {
        return failed;
    }

    int skipped() {
        return skipped;
    }

    private void add(Path file) throws IOException {
        // Counted one by one: the sums in <testsuite> are wrong where a test was tried again.
        Element suite;
        try {
            suite = parser().parse(file.toFile()).getDocumentElement();
        } catch (SAXException e) {
            failed++;
            lines.add("FAILED:  " + file.getFileName() + " cannot be read, its JVM may have been killed: "
                    + oneLine(String.valueOf(e.getMessage())));
            return;
        }
        NodeList tests = suite.getElementsByTagName("testcase");
        if (tests.getLength() == 0) {
            // So it reports a class whose @BeforeAll has assumed something in vain, without the reason.
            skipped++;
            lines.add("skipped: " + shortened(suite.getAttribute("name"))
                    + ": what all tests of this class need is not there");
        }
        for (int i = 0; i < tests.getLength(); i++) {
            add((Element) tests.item(i));
        }
    }

    private void add(Element test) {
        String name = shortened(test.getAttribute("classname")) + "." + test.getAttribute("name");
        Optional<Element> failure = child(test, "failure").or(() -> child(test, "error"));
        Optional<Element> skip = child(test, "skipped");
        if (failure.isPresent()) {
            failed++;
            lines.add("FAILED:  " + name + ": " + reason(failure.get()));
        } else if (skip.isPresent()) {
            skipped++;
            String why = reason(skip.get());
            lines.add("skipped: " + name + ": " + (why.isEmpty() ? "no reason given" : why));
        } else {
            passed++;
            child(test, "flakyFailure")
                    .or(() -> child(test, "flakyError"))
                    .ifPresent(first ->
                            lines.add("failed at first, passed when tried again: " + name + ": " + reason(first)));
        }
    }

    private static String shortened(String className) {
        return className.replaceFirst("^io\\.jenkins\\.plugins\\.preemptible\\.", "");
    }

    private static Optional<Element> child(Element test, String name) {
        for (Node each = test.getFirstChild(); each != null; each = each.getNextSibling()) {
            if (each instanceof Element element && element.getTagName().equals(name)) {
                return Optional.of(element);
            }
        }
        return Optional.empty();
    }

    private static String reason(Element outcome) {
        String why = outcome.getAttribute("message");
        if (why.isBlank()) {
            Matcher told = TOLD_AS_TEXT.matcher(outcome.getTextContent());
            why = told.find() ? told.group(1) : outcome.getAttribute("type");
        }
        why = oneLine(why);
        return why.startsWith(ASSUMPTION) ? why.substring(ASSUMPTION.length()) : why;
    }

    private static String oneLine(String text) {
        return text.replaceAll("\\s*\\R\\s*", " ").strip();
    }

    private static DocumentBuilder parser() {
        try {
            DocumentBuilderFactory factory = DocumentBuilderFactory.newInstance();
            factory.setFeature("http://apache.org/xml/features/disallow-doctype-decl", true);
            DocumentBuilder parser = factory.newDocumentBuilder();
            // Else it writes to the standard error besides throwing.
            parser.setErrorHandler(null);
            return parser;
        } catch (ParserConfigurationException e) {
            throw new IllegalStateException(e);
        }
    }
}
