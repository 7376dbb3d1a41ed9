package io.jenkins.plugins.preemptible.engine.criu;

import java.util.List;
import java.util.regex.Pattern;

/**
 * What a log of CRIU means.
 *
 * <ol>
 *   <li>Its lines of level error decide; those that CRIU prints on a run that succeeds are left out.
 *   <li>The first rule of the list that any such line fits gives the reason; the specific stand before the general.
 *   <li>No rule: {@link FailureReason#CRIU_FAILED}, and the lines speak for themselves.
 * </ol>
 *
 * Pure; source of the wordings: CRIU 4.2.1.
 *
 * @param decisive at most twelve lines, in the log's order
 */
public record CriuLog(FailureReason reason, List<String> decisive) {

    private static final int MOST_LINES = 12;
    private static final Pattern HARMLESS = Pattern.compile("Can't setup RLIMIT_NOFILE for self");

    private record Rule(Pattern line, FailureReason reason) {}

    private static Rule rule(String line, FailureReason reason) {
        return new Rule(Pattern.compile(line, Pattern.CASE_INSENSITIVE), reason);
    }

    private static final List<Rule> RULES = List.of(
            rule("No space left on device|Disk quota exceeded", FailureReason.NO_SPACE),
            rule("Unseizable non-zombie .*state D", FailureReason.KERNEL_WAIT),
            rule("Unseizable|found while seizing|is being traced|already traced", FailureReason.TRACED),
            rule("Connected TCP socket|tcp-established|tcp-close|In-flight connection", FailureReason.CONNECTED_TCP),
            rule("file locks are hold|file.locks option|can't dump.*lock", FailureReason.FILE_LOCKS),
            rule("Can't dump ghost file|ghost.limit|ghost file.*too", FailureReason.DELETED_FILE_TOO_LARGE),
            rule("io_uring", FailureReason.IO_URING),
            rule("External socket|external.*pipe|pipe.*external|Can't lookup mount=|ext-unix-sk|unix.*(peer|external)"
                    + "|dangling|session leader of .* is outside|Can't dump half of", FailureReason.OUTSIDE_FILE),
            rule("Can't fork for \\d+: File exists|Pid \\d+ do not match", FailureReason.PID_TAKEN),
            rule("has bad size|has bad mode|Can't open file .*No such file|No such file or directory.*(reg file|on mnt)"
                    + "|Can't open file .* on restore|File .* has bad", FailureReason.PATH_MISSING),
            rule("vdso: Unexpected rt vDSO|unsupported kernel|Kernel.*(lacks|doesn't support)", FailureReason.CRIU_UNUSABLE),
            rule("Operation not permitted|Permission denied|requires root|CAP_SYS", FailureReason.NO_RIGHTS),
            rule("Unsupported|Unknown (file|anon inode|socket)|Can't dump (file|unix|socket)|not supported|link-remap",
                    FailureReason.UNSUPPORTED));

    public CriuLog {
        decisive = List.copyOf(decisive);
    }

    /** Reads a log. */
    public static CriuLog of(List<String> log) {
        List<String> errors = log.stream()
                .filter(l -> l.contains("Error (") || l.contains("criu:") || l.contains("mount:") || l.contains("sh:"))
                .filter(l -> !HARMLESS.matcher(l).find())
                .toList();
        List<String> decisive = (errors.isEmpty() ? log.subList(Math.max(0, log.size() - 4), log.size()) : errors)
                .stream().limit(MOST_LINES).toList();
        for (Rule rule : RULES) {
            if (errors.stream().anyMatch(l -> rule.line().matcher(l).find())) {
                return new CriuLog(rule.reason(), decisive);
            }
        }
        return new CriuLog(FailureReason.CRIU_FAILED, decisive);
    }
}
