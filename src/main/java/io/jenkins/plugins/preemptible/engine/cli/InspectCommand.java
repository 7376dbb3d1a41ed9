package io.jenkins.plugins.preemptible.engine.cli;

import com.fasterxml.jackson.annotation.JsonInclude;
import com.fasterxml.jackson.annotation.JsonUnwrapped;
import io.jenkins.plugins.preemptible.engine.content.ContentReader;
import io.jenkins.plugins.preemptible.engine.content.ContentReader.Detail;
import io.jenkins.plugins.preemptible.engine.content.format.ContentException;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageInspection;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

/**
 * Prints what is in an image, without restoring it.
 *
 * <ol>
 *   <li>The whole image is authenticated; what is shown is gathered while it streams by, nothing reaches a disk.
 *   <li>As text: the stage, what the image refers to, its host, times, processes as a tree, memory by kind, open files,
 *       sockets, mounts, the image's files.
 *   <li>As JSON: one object with all of it. Environments only when asked for, since they like to hold secrets.
 * </ol>
 */
@Command(
        name = "inspect",
        description =
                "Says what is in an image, without restoring it: processes, memory, open files, sockets, mounts, sizes.")
final class InspectCommand implements Callable<Integer> {

    private final Context context;

    @Parameters(paramLabel = "FILE", description = "The image.")
    private Path file;

    @Option(names = "--json", description = "One JSON object.")
    private boolean json;

    @Option(
            names = "--env",
            description = "The environments of the processes too. They may hold passwords: mind who sees the output.")
    private boolean environment;

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
        Seen seen = inspect();
        if (json) {
            context.printJson(seen);
        } else {
            new ImageText(context.out()).print(seen.inspection(), seen.chain(), seen.content());
        }
        return ExitStatus.OK;
    }

    /** What is printed. */
    @JsonInclude(JsonInclude.Include.NON_NULL)
    private record Seen(
            @JsonUnwrapped ImageInspection inspection,
            ImageChain chain,
            @JsonUnwrapped InspectedContent content) {}

    private Seen inspect() throws ImageException {
        ContentReader reader = new ContentReader(environment ? Set.of(Detail.ENVIRONMENT) : Set.of());
        Path archive = context.resolve(file);
        ImageKey key = context.openingKey(keyFile);
        ImageInspection inspection = ImageArchive.inspect(archive, key, reader);
        ImageChain chain = ImageChain.of(inspection, archive, key);
        try {
            return new Seen(inspection, chain, new InspectedContent.Known(reader.content()));
        } catch (ContentException e) {
            return new Seen(inspection, chain, new InspectedContent.Missing(e.getMessage()));
        }
    }
}
