package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The small C programs of the folder {@code kernel}, each of which holds one resource of the kernel.
 *
 * <ol>
 *   <li>One call of gcc makes one program of them all; which resource it holds is its argument.
 *   <li>It makes the file {@code ready}, waits for the file {@code go}, then looks at the resource.
 *   <li>It writes {@code pass}, {@code skip: why} or {@code fail: why} into the file {@code result}.
 * </ol>
 *
 * @param program the compiled program
 */
record KernelPrograms(Path program) {

    /** There are more; a list that ends early must not look like a small success. */
    private static final int LEAST = 60;

    private static final Path SOURCES = Path.of("src/test/resources/io/jenkins/plugins/preemptible/engine/kernel");

    /**
     * One resource.
     *
     * @param refused the reasons one of which its suspension is refused with, separated by bars, or empty
     * @param lost what its program finds afterwards when CRIU is known to lose it, or empty
     */
    record Resource(String family, String name, String title, String refused, String lost) {}

    /** Compiles them into a folder; skips the test where there is no compiler. */
    static KernelPrograms compile(Path folder) throws IOException {
        assumeTrue(HostTool.find("gcc").isPresent(), "gcc is not installed");
        Path program = folder.resolve("kernel-programs");
        List<String> command = new ArrayList<>(List.of("gcc", "-O1", "-pthread", "-o", program.toString()));
        try (var files = Files.list(SOURCES)) {
            files.map(Path::toString).filter(f -> f.endsWith(".c")).sorted().forEach(command::add);
        }
        command.addAll(List.of("-lm", "-lrt"));
        HostTool.Answer answer = HostTool.run(120, command);
        if (!answer.ok()) {
            throw new IOException("the programs do not compile: " + answer.text());
        }
        return new KernelPrograms(program);
    }

    /** All resources, never none. */
    List<Resource> resources() {
        HostTool.Answer answer = HostTool.run(60, List.of(program.toString(), "--list"));
        List<Resource> resources = answer.text()
                .lines()
                .map(l -> l.split("\t", -1))
                .map(c -> new Resource(c[0], c[1], c[2], c[3], c[4]))
                .toList();
        if (!answer.ok() || resources.size() < LEAST) {
            throw new IllegalStateException("the programs list only " + resources.size() + " resources");
        }
        return resources;
    }

    static boolean ready(Path folder) {
        return Files.exists(folder.resolve("ready")) || ended(folder);
    }

    static boolean ended(Path folder) {
        return folder.resolve("result").toFile().length() > 0;
    }

    static String result(Path folder) throws IOException {
        Path result = folder.resolve("result");
        return ended(folder) ? Files.readString(result) : "it ended without a word";
    }
}
