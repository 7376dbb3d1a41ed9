package io.jenkins.plugins.preemptible.engine.zdtm;

import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.text.Script;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Verdict;
import io.jenkins.plugins.preemptible.engine.zdtm.ZdtmResult.Way;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;

/**
 * A test without the engine, with the criu that the engine uses and the options that the suite asks for.
 *
 * <ol>
 *   <li>One of flavour {@code h}: as root in a PID namespace, since two tests at a time want process ids of their own.
 *   <li>One of flavour {@code ns} alone: by the suite's own runner, which is Python and needs the modules yaml and protobuf.
 * </ol>
 */
record PlainCriu(ZdtmSuite suite, Path program) {

    private static final long LIMIT_SECONDS = 80;

    static ZdtmResult run(ZdtmSuite suite, String test) throws IOException {
        Path criu = new CriuSearch().usable().map(Criu::program).orElseThrow(() -> new IOException("no usable criu"));
        PlainCriu plain = new PlainCriu(suite, criu);
        ZdtmHook.of(suite, test, suite.folder()).clean();
        ZdtmRun.clean(suite, test);
        long begun = System.nanoTime();
        ZdtmResult result = suite.find(test).flavor().equals("h") ? plain.alone(test) : plain.bySuite(test);
        return new ZdtmResult(
                test, Way.PLAIN, result.verdict(), result.reason(), (System.nanoTime() - begun) / 1_000_000);
    }

    private ZdtmResult alone(String test) throws IOException {
        Path images = Files.createTempDirectory(Path.of("/var/tmp"), "preemptible-zdtm-");
        ZdtmHook hook = ZdtmHook.of(suite, test, images);
        try {
            String options = suite.words(test, "opts") + " ";
            HostTool.Answer answer = inFolder(
                    suite.workDir(test),
                    List.of(
                            "unshare",
                            "--pid",
                            "--fork",
                            "--kill-child",
                            "--mount-proc",
                            "sh",
                            "-c",
                            Script.text(PlainCriu.class, "plain.sh"),
                            "zdtm-plain",
                            Path.of(test).getFileName().toString(),
                            images.toString(),
                            program.toString(),
                            options + suite.words(test, "dopts"),
                            options + suite.words(test, "ropts"),
                            hook.takesPart() ? hook.file().toString() : "true"));
            Verdict verdict =
                    switch (answer.code()) {
                        case 0 -> Verdict.PASS;
                        case 3 -> Verdict.NOT_STARTED;
                        default -> Verdict.FAIL;
                    };
            String what =
                    switch (answer.code()) {
                        case 0, 3 -> "";
                        case 4 -> "dump: ";
                        case 5 -> "restore: ";
                        default -> "verdict: ";
                    };
            return result(test, verdict, what, answer);
        } finally {
            hook.clean();
            StageFolder.delete(images);
        }
    }

    private ZdtmResult bySuite(String test) {
        return judged(
                test,
                inFolder(
                        suite.folder().resolve("test"),
                        List.of(
                                "python3",
                                "zdtm.py",
                                "run",
                                "--ignore-taint",
                                "--criu-bin",
                                program.toString(),
                                "-t",
                                "zdtm/" + test,
                                "-f",
                                "ns")));
    }

    /** What the suite's own runner said of a test; a run that says nothing of criu is none. */
    static ZdtmResult judged(String test, HostTool.Answer answer) {
        Optional<String> lacking = answer.text()
                .lines()
                .filter(l -> l.startsWith("ModuleNotFoundError"))
                .findFirst();
        if (lacking.isPresent()) {
            return skipped(test, "the suite's runner needs modules: make -C DIR lib; " + lacking.get());
        }
        if (answer.text().contains("Can't get rlimit")) {
            return skipped(test, "the suite runs it as another user, whom CRIU cannot dump without CAP_SYS_RESOURCE");
        }
        Verdict verdict =
                answer.text().contains("Skipping zdtm") && !answer.text().contains(" PASS ")
                        ? Verdict.SKIPPED
                        : answer.ok() ? Verdict.PASS : Verdict.FAIL;
        return result(test, verdict, "", answer);
    }

    private static ZdtmResult skipped(String test, String why) {
        return new ZdtmResult(test, Way.PLAIN, Verdict.SKIPPED, why, 0);
    }

    private static ZdtmResult result(String test, Verdict verdict, String what, HostTool.Answer answer) {
        String why = answer.text()
                .lines()
                .filter(l -> !l.contains("RLIMIT_NOFILE"))
                .filter(l -> l.contains("Error (")
                        || l.contains("ERR:")
                        || l.contains("FAIL")
                        || l.contains("Skipping zdtm"))
                .findFirst()
                .orElse("exit status " + answer.code());
        return new ZdtmResult(test, Way.PLAIN, verdict, verdict == Verdict.PASS ? "" : what + why, 0);
    }

    private static HostTool.Answer inFolder(Path folder, List<String> command) {
        List<String> words = new ArrayList<>(
                List.of("sh", "-c", "cd \"$1\" && shift && exec \"$@\" 2>&1", "zdtm", folder.toString()));
        words.addAll(command);
        return HostTool.run(LIMIT_SECONDS, words);
    }
}
