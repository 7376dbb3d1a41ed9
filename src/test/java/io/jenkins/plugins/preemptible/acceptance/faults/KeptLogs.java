package io.jenkins.plugins.preemptible.acceptance.faults;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.List;
import java.util.stream.Stream;

/** What is kept of a lost round: logs of builds and agents, and the records of stages. */
final class KeptLogs {

    private KeptLogs() {}

    /** @param to is made */
    static void keep(Path to, Path jenkinsHome, List<Path> agents) throws IOException {
        Files.createDirectories(to);
        Path jobs = jenkinsHome.resolve("jobs");
        try (Stream<Path> files = Files.walk(jobs)) {
            for (Path log : files.filter(file -> file.endsWith("log")).toList()) {
                copy(log, to.resolve(jobs.relativize(log).toString().replace('/', '_')));
            }
        }
        try (Stream<Path> records = Files.list(jenkinsHome.resolve("preemptible-stages"))) {
            for (Path record : records.toList()) {
                copy(record, to.resolve(record.getFileName()));
            }
        }
        for (Path agent : agents) {
            copy(agent, to.resolve(agent.getFileName()));
        }
    }

    private static void copy(Path from, Path to) throws IOException {
        Files.copy(from, to, StandardCopyOption.REPLACE_EXISTING);
    }
}
