package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.xpath.XPath;
import javax.xml.xpath.XPathConstants;
import javax.xml.xpath.XPathFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.w3c.dom.Document;
import org.w3c.dom.Node;
import org.w3c.dom.NodeList;

/** The two POMs build the same sources, hence with the same versions; and the robot that raises versions finds both. */
class PomVersionsTest {

    private static final Path PLUGIN = Path.of("pom.xml");
    private static final Path ENGINE = Path.of(".ci/engine-pom.xml");
    private static final Pattern PROPERTY = Pattern.compile("\\$\\{([^}]+)}");
    private static final XPath XPATH = XPathFactory.newInstance().newXPath();

    /** All libraries that the plugin does not get from other plugins; a check that compares nothing is none. */
    private static final Set<String> IN_BOTH = Set.of(
            "com.github.jnr",
            "com.google.crypto.tink",
            "com.google.protobuf",
            "com.tngtech.archunit",
            "info.picocli",
            "net.jqwik",
            "org.awaitility",
            "org.knowm.xchart");

    @Test
    void whatBothNameHasTheSameVersion() throws Exception {
        assertEquals(Map.of(), drift(PLUGIN, ENGINE));
    }

    @Test
    void theLibrariesThatTheEngineNeedsAreCompared() throws Exception {
        Set<String> compared = versions(PLUGIN).keySet();
        compared.retainAll(versions(ENGINE).keySet());
        assertTrue(compared.containsAll(IN_BOTH), () -> "only " + compared + " are named by both");
    }

    @Test
    void anotherVersionIsSeen(@TempDir Path folder) throws Exception {
        Path changed = Files.writeString(
                folder.resolve("pom.xml"),
                Files.readString(ENGINE).replaceFirst("(<artifactId>tink</artifactId>\\s*<version>)[^<]+", "$10.0.1"));
        assertEquals(Set.of("com.google.crypto.tink"), drift(PLUGIN, changed).keySet());
    }

    @Test
    void theRobotFindsBoth() throws Exception {
        List<String> lines = Files.readAllLines(Path.of(".github/dependabot.yml"));
        Set<Path> found = new TreeSet<>();
        for (String line : lines) {
            Matcher folder = Pattern.compile("^ +- \"/(.*)\"$").matcher(line);
            if (folder.find()) {
                // It reads this file of a folder, and the modules that it names.
                Path pom = Path.of(folder.group(1)).resolve("pom.xml");
                found.add(pom);
                for (Node module : nodes(document(pom), "/project/modules/module")) {
                    found.add(pom.resolveSibling(module.getTextContent().trim()));
                }
            }
        }
        assertTrue(found.containsAll(List.of(PLUGIN, ENGINE)), found::toString);
        assertTrue(found.stream().allMatch(Files::isRegularFile), found::toString);
    }

    /** Returns the versions of both, by what has not the same ones. */
    private static Map<String, List<Set<String>>> drift(Path one, Path other) throws Exception {
        Map<String, Set<String>> first = versions(one);
        Map<String, Set<String>> second = versions(other);
        return first.keySet().stream()
                .filter(name -> second.containsKey(name) && !second.get(name).equals(first.get(name)))
                .collect(Collectors.toMap(name -> name, name -> List.of(first.get(name), second.get(name))));
    }

    /** Returns the versions of properties by name and of dependencies by group, since a group's libraries are released together. */
    private static Map<String, Set<String>> versions(Path pom) throws Exception {
        Document document = document(pom);
        Map<String, String> properties = new TreeMap<>();
        for (Node property : nodes(document, "/project/properties/*")) {
            properties.put(property.getNodeName(), property.getTextContent().trim());
        }
        Map<String, Set<String>> versions = new TreeMap<>();
        properties.forEach((name, value) -> {
            if (name.endsWith(".version") || name.endsWith(".release")) {
                versions.put("property " + name, Set.of(value));
            }
        });
        for (Node node : nodes(
                document, "//dependency[version] | //plugin[version] | //additionalClasspathDependency[version]")) {
            // A plugin of Maven's own is released alone.
            String name = XPATH.evaluate("groupId", node)
                    + (node.getNodeName().equals("plugin") ? ":" + XPATH.evaluate("artifactId", node) : "");
            String version = PROPERTY.matcher(XPATH.evaluate("version", node).trim())
                    .replaceAll(use -> Matcher.quoteReplacement(properties.getOrDefault(use.group(1), use.group())));
            versions.computeIfAbsent(name, n -> new TreeSet<>()).add(version);
        }
        return versions;
    }

    private static Document document(Path pom) throws Exception {
        return DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(pom.toFile());
    }

    private static List<Node> nodes(Document document, String path) throws Exception {
        NodeList found = (NodeList) XPATH.evaluate(path, document, XPathConstants.NODESET);
        return IntStream.range(0, found.getLength()).mapToObj(found::item).toList();
    }
}
