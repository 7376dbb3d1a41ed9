package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.image.ImageArchive;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageInspection;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Prints what is in an image, without restoring it.
 *
 * <ol>
 *   <li>The whole image is authenticated first.
 *   <li>As text: the stage, where it comes from, its processes as a tree, its files.
 *   <li>As JSON: one object with the manifest and the entries.
 * </ol>
 */
@Command(name = "inspect", description = "Says what is in an image, without restoring it.")
final class InspectCommand implements Callable<Integer> {

    private static final int WIDEST = 120;

    private final Context context;

    @Parameters(paramLabel = "FILE", description = "The image.")
    private Path file;

    @Option(names = "--json", description = "One JSON object.")
    private boolean json;

    @Option(
            names = "--key-file",
            paramLabel = "KEY",
            description = "The key that sealed the image; by default image.key beside the stages.")
    private Path keyFile;

    InspectCommand(Context context) {
        this.context = context;
    }

    @Override
    public Integer call() throws ImageException {
        ImageInspection inspection = ImageArchive.inspect(context.resolve(file), context.openingKey(keyFile));
        if (json) {
            context.printJson(inspection);
        } else {
            print(inspection);
        }
        return ExitStatus.OK;
    }

    private void print(ImageInspection inspection) {
        ImageManifest manifest = inspection.manifest();
        PrintWriter out = context.out();
        out.println("stage      " + printable(manifest.stageId()) + " (" + printable(manifest.name()) + ")");
        out.println("suspended  " + printable(manifest.createdAt()));
        out.println("with       CRIU " + printable(manifest.criuVersion()) + ", kernel " + printable(manifest.kernel())
                + ", " + printable(manifest.arch()) + ", format " + manifest.formatVersion());
        out.println("size       " + manifest.imageBytes() + " bytes, sealed " + inspection.archiveBytes() + " bytes");
        out.println("processes  " + manifest.processes());
        printChildren(manifest.tree(), 0, 1);
        out.println("files      " + inspection.entries().size());
        for (ImageInspection.Entry entry : inspection.entries()) {
            out.printf("  %12d  %s%n", entry.bytes(), entry.name());
        }
    }

    // Children are looked for by their parent's pid; the depth is bounded against a manifest that goes in circles.
    private void printChildren(List<ImageManifest.ProcessInfo> tree, int parent, int depth) {
        for (ImageManifest.ProcessInfo process : tree) {
            boolean isRoot = depth == 1 && tree.stream().noneMatch(other -> other.pid() == process.ppid());
            if ((depth > 1 && process.ppid() == parent) || isRoot) {
                String shown = process.commandLine() == null || process.commandLine().isBlank()
                        ? "[" + process.comm() + "]"
                        : process.commandLine();
                context.out().println("  ".repeat(depth) + process.pid() + " " + shortened(printable(shown)));
                if (depth < 100) {
                    printChildren(tree, process.pid(), depth + 1);
                }
            }
        }
    }

    private static String shortened(String text) {
        return text.length() <= WIDEST ? text : text.substring(0, WIDEST - 1) + "…";
    }

    // Names and command lines are the stage's: they must not drive the reader's terminal.
    private static String printable(String text) {
        return text == null ? "unknown" : text.replaceAll("\\p{Cntrl}", "?");
    }
}
