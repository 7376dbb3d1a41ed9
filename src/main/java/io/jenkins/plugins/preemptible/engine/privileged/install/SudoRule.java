package io.jenkins.plugins.preemptible.engine.privileged.install;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall.RefusedInstall;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** The file that lets users call the privileged part through sudo. */
record SudoRule(Path program, Path file) {

    /**
     * Writes it, for this user or group and for those that it named before.
     *
     * @param beginning what stands above the users
     * @param store a folder of root's, in which visudo checks it first
     */
    void put(String who, String beginning, Path store) throws RefusedInstall, IOException {
        StringBuilder text = new StringBuilder(beginning);
        Set<String> all = users();
        all.add(who);
        all.forEach(each -> text.append(each + " ALL=(root) NOPASSWD: " + program + "\n"));
        put(text.toString().getBytes(StandardCharsets.UTF_8), store.resolve(".rule"));
    }

    private Set<String> users() throws IOException {
        Set<String> all = new LinkedHashSet<>();
        if (Files.exists(file)) {
            Pattern one = Pattern.compile("(\\S+) ALL=\\(root\\) NOPASSWD: " + Pattern.quote(program.toString()));
            for (String line : Files.readAllLines(file)) {
                Matcher known = one.matcher(line);
                if (known.matches()) {
                    all.add(known.group(1));
                }
            }
        }
        return all;
    }

    // visudo first: a rule that sudo does not understand would lock everybody out.
    private void put(byte[] text, Path aside) throws RefusedInstall, IOException {
        RootsFiles.put(text, aside, "r--r-----");
        try {
            HostTool.Answer answer = RootsFiles.run(
                    20,
                    List.of(RootsFiles.tool("visudo").orElseThrow().toString(), "-c", "-q", "-f", aside.toString()));
            if (!answer.ok()) {
                throw new RefusedInstall("sudo does not understand the rule for this program: " + answer.firstLine());
            }
            RootsFiles.put(text, file, "r--r-----");
        } finally {
            Files.deleteIfExists(aside);
        }
    }
}
