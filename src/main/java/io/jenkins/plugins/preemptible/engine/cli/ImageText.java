package io.jenkins.plugins.preemptible.engine.cli;

import io.jenkins.plugins.preemptible.engine.cli.text.Printable;
import io.jenkins.plugins.preemptible.engine.content.FileContent;
import io.jenkins.plugins.preemptible.engine.content.ImageContent;
import io.jenkins.plugins.preemptible.engine.content.ImageContent.MountContent;
import io.jenkins.plugins.preemptible.engine.content.MemoryContent;
import io.jenkins.plugins.preemptible.engine.content.MemoryKind;
import io.jenkins.plugins.preemptible.engine.content.ProcessContent;
import io.jenkins.plugins.preemptible.engine.content.SocketContent;
import io.jenkins.plugins.preemptible.engine.image.HostFingerprint;
import io.jenkins.plugins.preemptible.engine.image.ImageInspection;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import java.io.PrintWriter;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;

/**
 * What is in an image, as text for people.
 *
 * <ol>
 *   <li>A section begins at the left with its name; what belongs to it is indented.
 *   <li>Every text that the stage chose goes through {@link Printable}.
 *   <li>Without the content (an image of another CRIU) the manifest's own tree is shown.
 * </ol>
 */
final class ImageText {

    private static final int WIDEST = 120;
    private static final int DEEPEST = 100;

    private final PrintWriter out;

    ImageText(PrintWriter out) {
        this.out = out;
    }

    void print(ImageInspection inspection, ImageChain chain, InspectedContent inspected) {
        printManifest(inspection);
        printChain(chain);
        printHost(inspection.manifest().host());
        printTimings(inspection.manifest().timings());
        if (inspected instanceof InspectedContent.Missing missing) {
            printTree(inspection.manifest().tree().stream()
                    .map(p -> new Node(p.pid(), p.ppid(), title(p), ""))
                    .toList());
            out.println("content    not shown: " + Printable.of(missing.contentMissing()));
        } else if (inspected instanceof InspectedContent.Known known) {
            printContent(known.content(), inspection.manifest());
        }
        out.println("files      " + inspection.entries().size());
        for (ImageInspection.Entry entry : inspection.entries()) {
            out.printf("  %12d  %s%n", entry.bytes(), Printable.of(entry.name()));
        }
    }

    private void printManifest(ImageInspection inspection) {
        ImageManifest manifest = inspection.manifest();
        out.println("stage      " + Printable.of(manifest.stageId()) + " (" + Printable.of(manifest.name()) + ")");
        out.println("suspended  " + Printable.of(manifest.createdAt()));
        out.println("with       CRIU " + Printable.of(manifest.criuVersion()) + ", kernel "
                + Printable.of(manifest.kernel()) + ", " + Printable.of(manifest.arch()) + ", format "
                + manifest.formatVersion());
        out.println("size       " + Printable.size(manifest.imageBytes()) + ", sealed "
                + Printable.size(inspection.archiveBytes()));
        out.println("processes  " + manifest.processes());
    }

    private void printChain(ImageChain chain) {
        ImageChain.Parent parent = chain.parent();
        if (parent == null) {
            out.println("image      " + Printable.of(chain.imageId()) + ", full");
            return;
        }
        out.println("image      " + Printable.of(chain.imageId()) + ", a difference: "
                + Printable.size(chain.storedBytes()) + " here, " + Printable.size(chain.referencedBytes())
                + " by reference");
        out.println("parent     " + Printable.of(parent.imageId()) + " in " + Printable.of(parent.file())
                + (parent.atHand()
                        ? ", suspended " + Printable.of(parent.createdAt())
                        : ", which is not there: without it this image cannot be resumed"));
    }

    private void printHost(HostFingerprint host) {
        if (host != null) {
            out.println("host       " + Printable.of(host.cpuModel()) + ", "
                    + host.cpuFeatures().size() + " features, " + Printable.of(host.libc()) + ", "
                    + host.buildIds().size() + " mapped files with a build id");
        }
    }

    private void printTimings(ImageManifest.Timings timings) {
        if (timings != null) {
            out.println("times      preflight " + timings.preflightMs() + " ms, freeze " + timings.freezeMs()
                    + " ms, dump "
                    + timings.dumpMs() + " ms, executor given away "
                    + Printable.of(timings.handover()).toLowerCase(Locale.ROOT).replace('_', ' '));
        }
    }

    private void printContent(ImageContent content, ImageManifest manifest) {
        printTree(content.processes().stream()
                .map(p -> new Node(p.pid(), p.ppid(), title(p, manifest), " " + facts(p)))
                .toList());
        printTimes(content.dumpTimes());
        printMemory(content.memory());
        printOpenFiles(content);
        printSection(
                "sockets", content.sockets().stream().map(ImageText::socket).toList());
        printSection(
                "deleted files",
                content.deletedFiles().stream()
                        .map(f -> Printable.size(f.bytes()) + "  " + Printable.of(f.path()))
                        .toList());
        printMounts(content.mounts());
        out.println("namespaces "
                + content.namespaces().stream()
                        .filter(ImageContent.NamespaceContent::own)
                        .map(ImageContent.NamespaceContent::kind)
                        .collect(Collectors.joining(" ")));
        if (content.processes().stream().anyMatch(p -> p.environment() != null)) {
            printEnvironments(content.processes());
        }
    }

    private record Node(long pid, long ppid, String title, String facts) {}

    // Children are searched by their parent's pid; the depth is bounded against a list that goes in circles.
    private void printTree(List<Node> nodes) {
        Map<Long, List<Node>> children = nodes.stream().collect(Collectors.groupingBy(Node::ppid));
        Map<Long, Node> byPid = new HashMap<>();
        nodes.forEach(n -> byPid.put(n.pid(), n));
        nodes.stream()
                .filter(n -> !byPid.containsKey(n.ppid()) || n.ppid() == n.pid())
                .forEach(n -> printNode(n, children, 1));
    }

    private void printNode(Node node, Map<Long, List<Node>> children, int depth) {
        out.println("  ".repeat(depth) + node.pid() + " " + node.title() + node.facts());
        if (depth < DEEPEST) {
            for (Node child : children.getOrDefault(node.pid(), List.of())) {
                if (child.pid() != node.pid()) {
                    printNode(child, children, depth + 1);
                }
            }
        }
    }

    private static String title(ImageManifest.ProcessInfo process) {
        return process.commandLine() == null || process.commandLine().isBlank()
                ? "[" + Printable.of(process.comm()) + "]"
                : Printable.of(process.commandLine(), WIDEST);
    }

    // When the memory does not hold the arguments any more, the manifest may: it was filled before the dump.
    private static String title(ProcessContent process, ImageManifest manifest) {
        if (!process.commandLine().isEmpty()) {
            return Printable.of(String.join(" ", process.commandLine()), WIDEST);
        }
        return manifest.tree().stream()
                .filter(p -> p.pid() == process.pid())
                .findFirst()
                .map(ImageText::title)
                .orElse("[" + Printable.of(process.comm()) + "]");
    }

    private static String facts(ProcessContent process) {
        if (process.state() == ProcessContent.State.ZOMBIE) {
            return "(zombie)";
        }
        StringBuilder facts = new StringBuilder("(" + Printable.size(process.storedBytes()));
        if (process.threads().size() > 1) {
            facts.append(", ").append(process.threads().size()).append(" threads");
        }
        if (process.uid() != 0) {
            facts.append(", user ").append(process.uid());
        }
        if (process.state() == ProcessContent.State.STOPPED) {
            facts.append(", stopped");
        }
        return facts.append(")").toString();
    }

    private void printTimes(ImageContent.DumpTimes times) {
        if (times != null) {
            out.printf(
                    Locale.ROOT,
                    "by CRIU    %.1f ms, of that %.1f ms for %d pages%n",
                    times.frozen() / 1000.0,
                    (times.memoryDump() + times.memoryWrite()) / 1000.0,
                    times.pagesWritten());
        }
    }

    private void printMemory(Map<MemoryKind, MemoryContent> memory) {
        out.printf("%-22s %12s %14s%n", "memory", "mapped", "in the image");
        memory.forEach((kind, amount) -> out.printf(
                "  %-20s %12s %14s%n", words(kind), Printable.size(amount.mapped()), Printable.size(amount.stored())));
    }

    private static String words(Enum<?> constant) {
        return constant.name().toLowerCase(Locale.ROOT).replace('_', ' ');
    }

    private void printOpenFiles(ImageContent content) {
        Map<Long, String> names = new HashMap<>();
        for (FileContent file : content.files()) {
            names.put(file.id(), file(file));
        }
        content.sockets().forEach(s -> names.put(s.id(), socket(s)));
        out.println("open files");
        for (ProcessContent process : content.processes()) {
            if (process.openFiles().isEmpty()) {
                continue;
            }
            out.println("  " + process.pid() + " " + Printable.of(process.comm()) + " in "
                    + Printable.of(process.workFolder()));
            for (ProcessContent.OpenFile open : process.openFiles()) {
                out.printf("  %5d  %s%n", open.fd(), names.getOrDefault(open.fileId(), words(open.kind())));
            }
        }
    }

    private static String file(FileContent file) {
        String access = file.access().isEmpty() ? "" : " (" + file.access() + ")";
        String at = file.position() == null || file.position() == 0 ? "" : " at " + file.position();
        return Printable.of(file.name()) + access + at;
    }

    private static String socket(SocketContent socket) {
        String ends = socket.peer().isEmpty() ? socket.local() : socket.local() + " to " + socket.peer();
        return Printable.of((socket.family() + " " + socket.type() + " " + ends + " " + socket.state())
                .replaceAll(" +", " ")
                .strip());
    }

    private void printMounts(List<MountContent> mounts) {
        long external = mounts.stream().filter(MountContent::external).count();
        out.println("mounts     " + external + " of the host, " + (mounts.size() - external) + " of the stage");
        mounts.stream()
                .filter(m -> !m.external())
                .forEach(m -> out.println("  " + Printable.of(m.mountPoint())
                        + (m.type().isEmpty() ? "" : " (" + Printable.of(m.type()) + ")")));
    }

    private void printSection(String name, List<String> lines) {
        if (!lines.isEmpty()) {
            out.println(name);
            lines.forEach(line -> out.println("  " + line));
        }
    }

    private void printEnvironments(List<ProcessContent> processes) {
        out.println("environments");
        for (ProcessContent process : processes) {
            if (process.environment() != null && !process.environment().isEmpty()) {
                out.println("  " + process.pid() + " " + Printable.of(process.comm()));
                process.environment().forEach(line -> out.println("      " + Printable.of(line)));
            }
        }
    }
}
