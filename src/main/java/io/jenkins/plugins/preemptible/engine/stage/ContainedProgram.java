package io.jenkins.plugins.preemptible.engine.stage;

import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The program that makes, enters and restores a stage inside of a container: a text for Perl, which has all system calls and
 * needs no file of the host any more once it runs.
 *
 * <p>Perl obeys its environment, and runs as the host's root: it gets none of its caller's.
 *
 * @param perl its absolute path
 * @param architecture as Java's {@code os.arch} names it
 */
public record ContainedProgram(String perl, String architecture) {

    private static final String ENV = "/usr/bin/env";
    private static final String PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

    /** Whose system calls the program knows. */
    static final Set<String> ARCHITECTURES = Set.of("amd64", "aarch64");

    public ContainedProgram {
        if (!ARCHITECTURES.contains(architecture)) {
            throw new IllegalArgumentException("the system calls of this architecture are not known");
        }
    }

    /** @throws IOException when this host has no Perl */
    public static ContainedProgram ofThisHost() throws IOException {
        return new ContainedProgram(
                HostTool.find("perl")
                        .orElseThrow(() -> new IOException("Perl is not on this host"))
                        .toString(),
                System.getProperty("os.arch"));
    }

    /**
     * @param verb of {@code contained.pl}
     * @param process whose namespaces or rights are meant; nothing is done where another one has its number now
     * @param words that follow it
     */
    public List<String> call(String verb, HostProcess process, List<String> words) {
        return call(Map.of(), verb, process, words);
    }

    /**
     * As {@link #call(String, HostProcess, List)}.
     *
     * @param environment beside {@code LC_ALL} and {@code PATH}, which it may replace
     */
    public List<String> call(Map<String, String> environment, String verb, HostProcess process, List<String> words) {
        List<String> command = new ArrayList<>(List.of(ENV, "-i", "LC_ALL=C", "PATH=" + PATH));
        environment.forEach((name, value) -> command.add(name + "=" + value));
        command.addAll(List.of(perl, "-e", Script.text(ContainedProgram.class, "contained.pl"), architecture, verb));
        command.addAll(List.of(Long.toString(process.pid()), Long.toString(process.startTicks()), process.bootId()));
        command.addAll(words);
        return command;
    }

    /** A list as the program takes it: its length first. */
    public static List<String> counted(List<String> words) {
        List<String> counted = new ArrayList<>(List.of(Integer.toString(words.size())));
        counted.addAll(words);
        return counted;
    }
}
