package io.jenkins.plugins.preemptible.engine.privileged.install;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.privileged.install.PrivilegedInstall.RefusedInstall;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Compiles the privileged part from the sources that this jar carries, by the host's C compiler, in a folder of root's. */
final class HelperBuild {

    private static final int LIMIT_SECONDS = 120;
    private static final List<String> COMPILERS = List.of("cc", "gcc", "clang");
    private static final List<String> SOURCES =
            List.of("helper.h", "main.c", "caller.c", "request.c", "record.c", "group.c", "process.c");
    private static final List<String> MEMORY_SOURCES = List.of("stage.c");
    private static final List<String> CHECKPOINT_SOURCES =
            List.of("broker.h", "userns.c", "mounts.c", "checkpoint.c", "broker.c");
    private static final List<String> FLAGS = List.of("-std=gnu17", "-O2", "-Wall", "-Wextra");
    private static final List<String> PROGRAM_FLAGS =
            List.of("-fPIE", "-pie", "-fstack-protector-strong", "-D_FORTIFY_SOURCE=2", "-Wl,-z,relro,-z,now");

    private final Path compiler;
    private final Path work;

    /** @param work an empty folder */
    HelperBuild(Path work) throws RefusedInstall, IOException {
        Path found = null;
        for (String name : COMPILERS) {
            found = found == null ? RootsFiles.tool(name).orElse(null) : found;
        }
        if (found == null) {
            throw new RefusedInstall("There is no C compiler, and the program is compiled where it is used; install one"
                    + " (apt-get install gcc libc6-dev) and call this again");
        }
        this.compiler = found;
        this.work = work;
    }

    /** The program that keeps stages in memory. */
    Path memory(Path store) throws RefusedInstall, IOException {
        return program(store, MEMORY_SOURCES, List.of());
    }

    /** The program that makes checkpoints, with what it runs in this folder. */
    Path checkpoints(Path store, Path library) throws RefusedInstall, IOException {
        return program(
                store,
                CHECKPOINT_SOURCES,
                List.of(
                        "-DCHECKPOINTS",
                        define("CRIU", library.resolve("criu")),
                        define("PRELOAD", library.resolve("preload.so")),
                        define("HOOK", library.resolve("hook")),
                        define("READER", library.resolve("reader"))));
    }

    /** The library that is loaded into CRIU. */
    Path preload() throws RefusedInstall, IOException {
        extract("broker.h");
        return compile("preload.so", List.of("-shared", "-fPIC"), List.of(extract("preload.c")));
    }

    /** The program that reads /proc inside of a stage's user namespace. */
    Path reader() throws RefusedInstall, IOException {
        return compile("reader", PROGRAM_FLAGS, List.of(extract("reader.c")));
    }

    private Path program(Path store, List<String> more, List<String> defines) throws RefusedInstall, IOException {
        List<Path> files = new ArrayList<>();
        for (List<String> some : List.of(SOURCES, more)) {
            for (String source : some) {
                Path file = extract(source);
                if (source.endsWith(".c")) {
                    files.add(file);
                }
            }
        }
        List<String> flags = new ArrayList<>(PROGRAM_FLAGS);
        flags.add(define("STORE", store));
        flags.addAll(defines);
        return compile("program", flags, files);
    }

    private static String define(String name, Path value) {
        return "-D" + name + "=\"" + value + "\"";
    }

    private Path extract(String source) throws IOException {
        Path file = work.resolve(source);
        if (!Files.exists(file)) {
            try (InputStream in = HelperBuild.class.getResourceAsStream("helper/" + source)) {
                Files.copy(in, file);
            }
        }
        return file;
    }

    private Path compile(String name, List<String> flags, List<Path> files) throws RefusedInstall {
        Path made = work.resolve(name);
        List<String> command = new ArrayList<>(List.of(compiler.toString()));
        command.addAll(FLAGS);
        command.addAll(flags);
        command.addAll(List.of("-o", made.toString()));
        files.forEach(file -> command.add(file.toString()));
        HostTool.Answer answer = RootsFiles.run(LIMIT_SECONDS, command);
        if (!answer.ok()) {
            throw new RefusedInstall("The program cannot be compiled here (" + answer.firstLine()
                    + "); install the C library's headers (apt-get install libc6-dev) and call this again");
        }
        return made;
    }
}
