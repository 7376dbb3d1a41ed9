package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.TwiceSuspended.Progress;
import io.jenkins.plugins.preemptible.engine.TwiceSuspended.Result;
import io.jenkins.plugins.preemptible.engine.compat.CompatibilityTable;
import io.jenkins.plugins.preemptible.engine.compat.Part;
import io.jenkins.plugins.preemptible.engine.compat.ProgramTrial;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.host.Proc;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.commons.compress.archivers.cpio.CpioArchiveEntry;
import org.apache.commons.compress.archivers.cpio.CpioArchiveOutputStream;
import org.apache.commons.compress.archivers.cpio.CpioConstants;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Programs that people run, each suspended and resumed twice in the middle of its work.
 *
 * <ol>
 *   <li>Run by {@code preempt compat} alone: minutes.
 *   <li>A program that is not installed is skipped, and the table says "not tried"; {@code .ci/setup --tools} installs.
 *   <li>Each is small on purpose: seconds of work, told round by round.
 * </ol>
 */
@Tag("host")
@Tag("tools")
@ExtendWith(CompatibilityTable.class)
class RealProgramsTest {

    private static final String ROUND = "^round ";
    private static final Pattern VERSION = Pattern.compile("\\d+\\.\\d[\\w.+-]*|\\d{2,}");

    @Test
    void aflTwoInstances() throws Exception {
        run("AFL++, two instances", "fuzzing a program, sharing their queues", (trial, bench) -> {
            need("afl-fuzz", "afl-cc");
            trial.version(version("afl-fuzz", "-h"));
            Path target = bench.folder.resolve("target");
            build("afl-cc", "-o", target.toString(), source(bench, "target.c"));
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(target),
                            script(bench, "fuzz.sh", "20000"),
                            run -> Math.min(touched(run, "first"), touched(run, "second")),
                            Result.output());
        });
    }

    // AFL++ writes its statistics once a minute only, its current input before each execution.
    private static long touched(TwiceSuspended.Run run, String instance) {
        return run.folder().resolve("out/" + instance + "/.cur_input").toFile().lastModified();
    }

    @Test
    void valgrindMemcheck() throws Exception {
        valgrind("memcheck", "memory.c", "^sum|definitely lost: [1-9]|ERROR SUMMARY", "400", "leak");
    }

    @Test
    void valgrindHelgrind() throws Exception {
        valgrind("helgrind", "threads.c", "^sum|Possible data race during read .* by thread", "3", "300", "race");
    }

    @Test
    void valgrindMassif() throws Exception {
        run("Valgrind massif", "measuring a program's heap", (trial, bench) -> {
            need("valgrind", "gcc");
            trial.version(version("valgrind", "--version"));
            Path program = compiled(bench, "memory.c");
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(program),
                            List.of("valgrind", "--tool=massif", "--massif-out-file=massif.out", "./memory", "400"),
                            Progress.lines(ROUND),
                            run -> Result.lines("^sum").of(run) + "\npeak "
                                    + Files.readAllLines(run.folder().resolve("massif.out")).stream()
                                            .filter(l -> l.startsWith("mem_heap_B="))
                                            .mapToLong(l -> Long.parseLong(l.substring("mem_heap_B=".length())))
                                            .max()
                                            .orElseThrow());
        });
    }

    private void valgrind(String tool, String source, String result, String... words) throws Exception {
        run("Valgrind " + tool, "checking a program with an error at its end", (trial, bench) -> {
            need("valgrind", "gcc");
            trial.version(version("valgrind", "--version"));
            Path program = compiled(bench, source, "-g");
            List<String> command = new ArrayList<>(
                    List.of("valgrind", "--tool=" + tool, "--error-exitcode=9", "./" + program.getFileName()));
            command.addAll(List.of(words));
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(program),
                            command,
                            Progress.lines(ROUND),
                            // Addresses and process ids are of no interest; where threads meet is a matter of chance.
                            run -> String.join(
                                    "\n",
                                    Result.lines(result)
                                            .of(run)
                                            .lines()
                                            .map(l -> l.replaceAll(
                                                    "^==\\d+== |0x[0-9A-Fa-f]+|#\\d+|ERROR SUMMARY: [1-9].*", ""))
                                            .distinct()
                                            .sorted()
                                            .toList()));
        });
    }

    @Test
    void addressSanitizer() throws Exception {
        sanitizer(
                "AddressSanitizer",
                "address",
                "memory.c",
                "free",
                "^sum|ERROR: AddressSanitizer: heap-use-after-free",
                "400",
                "free");
    }

    @Test
    void undefinedBehaviourSanitizer() throws Exception {
        sanitizer(
                "UndefinedBehaviorSanitizer",
                "undefined",
                "memory.c",
                "overflow",
                "^sum|runtime error: signed integer overflow",
                "400",
                "overflow");
    }

    @Test
    void threadSanitizer() throws Exception {
        sanitizer(
                "ThreadSanitizer",
                "thread",
                "threads.c",
                "race",
                "^sum|WARNING: ThreadSanitizer: data race",
                "4",
                "400",
                "race");
    }

    private void sanitizer(String name, String option, String source, String error, String result, String... words)
            throws Exception {
        run(name, "a program with an error at its end (" + error + ")", (trial, bench) -> {
            need("gcc");
            trial.version("gcc " + version("gcc", "--version"));
            Path program = compiled(bench, source, "-g", "-fsanitize=" + option);
            List<String> command = new ArrayList<>(List.of("./" + program.getFileName()));
            command.addAll(List.of(words));
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(program),
                            command,
                            Progress.lines(ROUND),
                            run -> String.join(
                                    "\n",
                                    Result.lines(result)
                                            .of(run)
                                            .lines()
                                            .map(l -> l.replaceAll("^==\\d+==|0x[0-9a-f]+|\\(pid=\\d+\\)", ""))
                                            .distinct()
                                            .toList()));
        });
    }

    @Test
    void qemu() throws Exception {
        run("QEMU, TCG", "booting a Linux kernel to a printed line", (trial, bench) -> {
            need("qemu-system-x86_64", "gcc");
            Path kernel = CriuSearch.prefix().resolve("tools/vmlinuz");
            assumeTrue(Files.isReadable(kernel), "there is no kernel for the guest, .ci/setup --tools fetches one");
            trial.version(version("qemu-system-x86_64", "--version"));
            Path guest = compiled(bench, "guest.c", "-static");
            Path initrd = bench.folder.resolve("initrd");
            try (OutputStream file = Files.newOutputStream(initrd);
                    CpioArchiveOutputStream out = new CpioArchiveOutputStream(file)) {
                CpioArchiveEntry entry = new CpioArchiveEntry(CpioConstants.FORMAT_NEW, "init", Files.size(guest));
                entry.setMode(CpioConstants.C_ISREG | 0755);
                out.putArchiveEntry(entry);
                Files.copy(guest, out);
                out.closeArchiveEntry();
                CpioArchiveEntry console = new CpioArchiveEntry(CpioConstants.FORMAT_NEW, "dev/console");
                console.setMode(CpioConstants.C_ISCHR | 0600);
                console.setRemoteDeviceMaj(5);
                console.setRemoteDeviceMin(1);
                CpioArchiveEntry dev = new CpioArchiveEntry(CpioConstants.FORMAT_NEW, "dev");
                dev.setMode(CpioConstants.C_ISDIR | 0755);
                for (CpioArchiveEntry each : List.of(dev, console)) {
                    out.putArchiveEntry(each);
                    out.closeArchiveEntry();
                }
            }
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(initrd),
                            List.of(
                                    "qemu-system-x86_64",
                                    "-accel",
                                    "tcg",
                                    "-m",
                                    "128",
                                    "-display",
                                    "none",
                                    "-monitor",
                                    "none",
                                    "-no-reboot",
                                    "-serial",
                                    "file:serial.log",
                                    "-kernel",
                                    kernel.toString(),
                                    "-initrd",
                                    "initrd",
                                    "-append",
                                    "console=ttyS0 panic=-1"),
                            // Once in the kernel's boot, once when its first process runs.
                            run -> Progress.linesOf("serial.log", "Linux version|guest: line")
                                    .of(run),
                            run -> Files.readAllLines(run.folder().resolve("serial.log")).stream()
                                    .filter(l -> l.startsWith("guest: "))
                                    .reduce("", (a, b) -> a + b + "\n"));
        });
    }

    @ParameterizedTest
    @ValueSource(strings = {"G1", "Z"})
    void openJdk(String collector) throws Exception {
        run("OpenJDK, " + (collector.equals("Z") ? "ZGC" : collector), "compiling Java", (trial, bench) -> {
            need("java", "javac");
            trial.version(version("java", "-version"));
            Path sources = Files.createDirectory(bench.folder.resolve("sources"));
            for (int i = 0; i < 80; i++) {
                Files.writeString(sources.resolve("C" + i + ".java"), javaClass(i));
            }
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(sources),
                            shell("java -XX:+Use" + collector
                                    + "GC -Xmx300m -m jdk.compiler/com.sun.tools.javac.Main -proc:none"
                                    + " -d classes sources/*.java && cd classes && sha256sum *.class | sha256sum"),
                            Progress.files(".class"),
                            Result.output());
        });
    }

    private static String javaClass(int number) {
        StringBuilder text =
                new StringBuilder("import java.util.*;import java.util.stream.*;class C" + number + " {\n");
        for (int i = 0; i < 10; i++) {
            text.append("Map<String, List<Integer>> m")
                    .append(i)
                    .append("(List<Integer> in) { return in.stream()")
                    .append(".filter(x -> x > ")
                    .append(number)
                    .append(").map(x -> x * ")
                    .append(i)
                    .append(").collect(Collectors.groupingBy(x -> \"k\" + (x % 7))); }\n");
        }
        return text.append("}\n").toString();
    }

    @Test
    void node() throws Exception {
        run("Node", "worker threads and timers", (trial, bench) -> {
            need("node");
            trial.version(version("node", "--version"));
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(Path.of(source(bench, "workers.js"))), List.of("node", "workers.js"),
                            Progress.lines(ROUND), Result.lines("^sum "));
        });
    }

    @Test
    void go() throws Exception {
        run("Go", "50 goroutines and channels", (trial, bench) -> {
            need("go");
            trial.version(version("go", "version"));
            Path program = bench.folder.resolve("routines");
            build(
                    "env",
                    "GOCACHE=" + bench.folder.resolve("go-cache"),
                    "GOFLAGS=-mod=mod",
                    "GO111MODULE=off",
                    "go",
                    "build",
                    "-o",
                    program.toString(),
                    source(bench, "routines.go"));
            new TwiceSuspended(trial, bench)
                    .compare(List.of(program), List.of("./routines"), Progress.lines(ROUND), Result.lines("^sum "));
        });
    }

    @Test
    void pythonMultiprocessing() throws Exception {
        run("Python, multiprocessing", "a pool of 4 with a lock and a shared value", (trial, bench) -> {
            need("python3");
            trial.version(version("python3", "--version"));
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(Path.of(source(bench, "pool.py"))), List.of("python3", "pool.py"),
                            Progress.lines(ROUND), Result.lines("^sum "));
        });
    }

    @Test
    void make() throws Exception {
        run("make -j4, gcc", "building zlib from its source package", (trial, bench) -> {
            need("make", "gcc", "tar");
            Path tar = zlib();
            trial.version(version("make", "--version") + ", gcc " + version("gcc", "--version"));
            // The same path in both runs: debuggers' data name it.
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(tar),
                            shell(
                                    "mkdir /tmp/source && tar xf zlib.tar -C /tmp/source --strip-components=1 && here=$PWD"
                                            + " && cd /tmp/source && ./configure > configure.log"
                                            + " && (make -j4 2>&1 || kill $$) | tee \"$here/build.log\" > /dev/null"
                                            + " && make test | tail -n 4 && sha256sum libz.a minigzip"),
                            Progress.linesOf("build.log", " -c "),
                            Result.output());
        });
    }

    private static Path zlib() throws IOException {
        Path tar = CriuSearch.prefix().resolve("tools/zlib.tar");
        assumeTrue(Files.isReadable(tar), "there is no source of zlib, .ci/setup --tools fetches it");
        return tar;
    }

    @ParameterizedTest
    @ValueSource(strings = {"/tmp", "127.0.0.1"})
    void postgres(String host) throws Exception {
        boolean local = host.startsWith("/");
        run(
                "PostgreSQL and pgbench over " + (local ? "a unix socket in /tmp" : "TCP on 127.0.0.1"),
                "4 clients, 4000 transactions",
                (trial, bench) -> {
                    Path programs = postgresPrograms();
                    trial.version(version(programs.resolve("postgres").toString(), "--version"));
                    String user = "postgres";
                    if (mayReadLimitsOfOthers()) {
                        need("setpriv");
                        assumeTrue(HostTool.run(5, List.of("id", "-u", user)).ok(), "there is no user postgres");
                        // It has to get to its data; the rest of the bench stays root's.
                        for (Path folder : List.of(bench.folder, bench.work)) {
                            Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString("rwx--x--x"));
                        }
                    } else {
                        need("gcc");
                        user = compiled(bench, "otheruser.c", "-shared", "-fPIC", "-ldl")
                                .toString();
                        trial.remark(
                                "the server runs as root behind a preloaded library, since it refuses root, and here root lacks"
                                        + " CAP_SYS_RESOURCE, without which CRIU cannot read the limits of another user's processes");
                    }
                    String port;
                    try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
                        port = Integer.toString(free.getLocalPort());
                    }
                    new TwiceSuspended(trial, bench)
                            .compare(
                                    List.of(),
                                    script(bench, "postgres.sh", programs.toString(), host, port, user),
                                    Progress.linesOf("bench.log", "^progress: "),
                                    Result.output());
                });
    }

    // CAP_SYS_RESOURCE is bit 24, see capabilities(7) and prlimit(2).
    private static boolean mayReadLimitsOfOthers() {
        return Proc.self("status").stream()
                .filter(l -> l.startsWith("CapEff:"))
                .anyMatch(l ->
                        (Long.parseUnsignedLong(l.substring("CapEff:".length()).trim(), 16) >> 24 & 1) == 1);
    }

    private static Path postgresPrograms() throws IOException {
        try (var all = Files.exists(Path.of("/usr/lib/postgresql"))
                ? Files.walk(Path.of("/usr/lib/postgresql"), 3)
                : java.util.stream.Stream.<Path>empty()) {
            List<Path> found =
                    all.filter(p -> p.endsWith("bin/postgres")).sorted().toList();
            assumeTrue(!found.isEmpty(), "postgresql is not installed");
            return found.get(found.size() - 1).getParent();
        }
    }

    @Test
    void xz() throws Exception {
        run("xz -T2", "compressing a file with two threads", (trial, bench) -> {
            need("xz", "seq");
            trial.version(version("xz", "--version"));
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(),
                            shell("seq 1 6000000 | xz -T2 -4 --block-size=1MiB > out.xz && sha256sum out.xz"
                                    + " && xz -dc out.xz | tail -n 1"),
                            Progress.size("out.xz"),
                            Result.output());
        });
    }

    @Test
    void ffmpeg() throws Exception {
        run("ffmpeg, 2 threads", "encoding a film", (trial, bench) -> {
            need("ffmpeg");
            trial.version(version("ffmpeg", "-version"));
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(),
                            shell(
                                    "ffmpeg -nostdin -loglevel error -f lavfi -i testsrc2=size=640x360:rate=25 -t 120 -c:v mpeg4"
                                            + " -threads 2 -flags +bitexact -fflags +bitexact -flush_packets 1 -y out.avi"
                                            + " && sha256sum out.avi"),
                            Progress.size("out.avi"),
                            Result.output());
        });
    }

    @Test
    void thousandProcesses() throws Exception {
        run("1,000 processes", "counting, with shared memory", (trial, bench) -> {
            need("gcc");
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(compiled(bench, "processes.c")), List.of("./processes", "1000", "300"),
                            Progress.lines(ROUND), Result.lines("^sum "));
        });
    }

    @Test
    void fiveHundredThreads() throws Exception {
        run("500 threads", "counting under one lock", (trial, bench) -> {
            need("gcc");
            new TwiceSuspended(trial, bench)
                    .compare(
                            List.of(compiled(bench, "threads.c")), List.of("./threads", "500", "200"),
                            Progress.lines(ROUND), Result.lines("^sum "));
        });
    }

    // ----------------------------------------------------------------------------------------------------------------

    @FunctionalInterface
    private interface Body {
        void run(ProgramTrial trial, StageBench bench) throws Exception;
    }

    private static void run(String subject, String work, Body body) throws Exception {
        ProgramTrial.run(Part.PROGRAMS, subject, work, trial -> {
            try (StageBench bench = StageBench.open()) {
                body.run(trial, bench);
            }
        });
    }

    private static void need(String... programs) {
        for (String program : programs) {
            assumeTrue(HostTool.find(program).isPresent(), program + " is not installed");
        }
    }

    private static String version(String... command) {
        // Some write in colours, even into a file.
        Matcher matcher =
                VERSION.matcher(HostTool.run(20, List.of(command)).text().replaceAll("\u001b\\[[0-9;]*m", ""));
        return matcher.find() ? matcher.group() : "";
    }

    private static void build(String... command) {
        HostTool.Answer answer = HostTool.run(300, List.of(command));
        assumeTrue(answer.ok(), () -> command[0] + " does not build the program here: " + answer.text());
    }

    /** The program that a C source makes, named as it without its ending. */
    private static Path compiled(StageBench bench, String source, String... options) throws IOException {
        Path program = bench.folder.resolve(source.replace(".c", ""));
        List<String> command = new ArrayList<>(List.of(
                "gcc", "-O1", "-Wno-use-after-free", "-pthread", "-o", program.toString(), source(bench, source)));
        command.addAll(List.of(options));
        build(command.toArray(String[]::new));
        return program;
    }

    /** A file of the tests, put below the bench's folder. */
    private static String source(StageBench bench, String name) throws IOException {
        Path folder = Files.createDirectories(bench.folder.resolve("sources of programs"));
        Path file = folder.resolve(name);
        try (InputStream in = RealProgramsTest.class.getResourceAsStream("programs/" + name)) {
            Files.copy(in, file);
        }
        return file.toString();
    }

    private static List<String> script(StageBench bench, String name, String... words) throws IOException {
        List<String> command = new ArrayList<>(List.of("/bin/sh", source(bench, name)));
        command.addAll(List.of(words));
        return command;
    }

    private static List<String> shell(String text) {
        return List.of("/bin/bash", "-o", "pipefail", "-c", text);
    }
}
