package io.jenkins.plugins.preemptible.engine.cli;

import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.jenkins.plugins.preemptible.engine.cli.text.Printable;
import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
import io.jenkins.plugins.preemptible.engine.content.ContentReader;
import io.jenkins.plugins.preemptible.engine.content.ContentReader.Detail;
import io.jenkins.plugins.preemptible.engine.content.ImageDifference;
import io.jenkins.plugins.preemptible.engine.content.format.ContentException;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageInspection;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ReadRequest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import java.io.PrintWriter;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Prints what changed between two images, the earlier one first.
 *
 * <ol>
 *   <li>Both are authenticated as a whole, one after the other; of the pages a digest each is kept. Of a difference the
 *       full image beside it is read too.
 *   <li>As text: processes that came and went, pages changed per process, descriptors, mounts, sizes.
 *   <li>As JSON: one object with all of it.
 * </ol>
 */
@Command(
        name = "diff",
        description =
                "Says what changed between two images of a stage: processes, memory pages, open files, sockets, sizes.")
final class DiffCommand implements Callable<Integer> {

    private static final int WIDEST = 100;

    private final Context context;

    @Parameters(index = "0", paramLabel = "A", description = "The earlier image.")
    private Path earlier;

    @Parameters(index = "1", paramLabel = "B", description = "The later image.")
    private Path later;

    @Option(names = "--json", description = "One JSON object.")
    private boolean json;

    @Option(
            names = "--key-file",
            paramLabel = "KEY",
            description = "The key that sealed both images; by default image.key beside the stages.")
    private Path keyFile;

    DiffCommand(Context context) {
        this.context = context;
    }

    /** Which image, when it was taken, and its sizes. */
    private record Taken(String stageId, String createdAt, long imageBytes, long archiveBytes) {
        static Taken of(ImageInspection image) {
            return new Taken(
                    image.manifest().stageId(),
                    image.manifest().createdAt(),
                    image.manifest().imageBytes(),
                    image.archiveBytes());
        }
    }

    private record Read(Taken taken, ImageDifference.Side side) {}

    private record Answer(
            Taken earlier, Taken later, @JsonUnwrapped ImageDifference difference) {}

    @Override
    public Integer call() throws ImageException {
        ImageKey key = context.openingKey(keyFile);
        Read a = read(earlier, key);
        Read b = read(later, key);
        Answer answer = new Answer(a.taken(), b.taken(), ImageDifference.between(a.side(), b.side()));
        if (json) {
            context.printJson(answer);
        } else {
            print(answer);
        }
        return ExitStatus.OK;
    }

    private Read read(Path file, ImageKey key) throws ImageException {
        Path archive = context.resolve(file);
        ContentReader reader = new ContentReader(Set.of(Detail.PAGE_DIGESTS));
        ImageInspection inspection = ImageArchive.inspect(archive, key, reader);
        if (!reader.inParent().isEmpty()) {
            ImageArchive.blockDigests(ReadRequest.of(archive, key), reader.inParent())
                    .forEach(reader::blocks);
        }
        try {
            return new Read(Taken.of(inspection), ImageDifference.Side.of(reader));
        } catch (ContentException e) {
            throw new RefusedException("The content of " + archive + " cannot be compared: "
                    + Printable.of(e.getMessage()) + "; 'preempt inspect' shows what can be seen of it");
        }
    }

    private void print(Answer answer) {
        PrintWriter out = context.out();
        Taken a = answer.earlier();
        Taken b = answer.later();
        out.println("stage      " + Printable.of(a.stageId())
                + (b.stageId().equals(a.stageId()) ? "" : " and " + Printable.of(b.stageId())));
        out.println("suspended  " + Printable.of(a.createdAt()) + " -> " + Printable.of(b.createdAt()));
        out.println("size       " + Printable.size(a.imageBytes()) + " -> " + Printable.size(b.imageBytes())
                + ", sealed " + Printable.size(a.archiveBytes()) + " -> " + Printable.size(b.archiveBytes()));
        ImageDifference difference = answer.difference();
        difference.gone().forEach(p -> out.println("- process  " + process(p)));
        difference.came().forEach(p -> out.println("+ process  " + process(p)));
        difference.closed().forEach(d -> out.println("- file     " + descriptor(d)));
        difference.opened().forEach(d -> out.println("+ file     " + descriptor(d)));
        difference.unmounted().forEach(m -> out.println("- mount    " + Printable.of(m)));
        difference.mounted().forEach(m -> out.println("+ mount    " + Printable.of(m)));
        out.println("pages changed");
        long pages = 0;
        long changed = 0;
        for (ImageDifference.PageChange each : difference.memory()) {
            out.println(pages(each.owner() + " " + each.comm(), each));
            pages += each.pages();
            changed += each.changed();
        }
        out.println(pages("all", new ImageDifference.PageChange("", "", pages, changed)));
    }

    private static String pages(String name, ImageDifference.PageChange change) {
        return String.format(
                Locale.ROOT,
                "  %-46s %9d of %9d  %5.1f %%",
                Printable.of(name, 46),
                change.changed(),
                change.pages(),
                change.percent());
    }

    private static String process(ImageDifference.ProcessChange process) {
        List<String> words = process.commandLine();
        String shown = words.isEmpty() ? "[" + process.comm() + "]" : String.join(" ", words);
        return process.pid() + " " + Printable.of(shown, WIDEST);
    }

    private static String descriptor(ImageDifference.DescriptorChange change) {
        String kind = change.kind().name().toLowerCase(Locale.ROOT).replace('_', ' ');
        return change.pid() + " as " + change.fd() + ": "
                + Printable.of(change.name().isEmpty() ? kind : change.name());
    }
}
