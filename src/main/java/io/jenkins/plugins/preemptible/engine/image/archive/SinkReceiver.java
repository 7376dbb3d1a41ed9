package io.jenkins.plugins.preemptible.engine.image.archive;

import io.jenkins.plugins.preemptible.engine.image.ArchiveFormat;
import io.jenkins.plugins.preemptible.engine.image.EntrySink;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageException.Reason;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest.EntryInfo;
import io.jenkins.plugins.preemptible.engine.image.block.BlockRuns;
import java.io.IOException;
import java.nio.file.Path;
import java.util.List;

/**
 * Shows the image files of an archive to a sink.
 *
 * <ol>
 *   <li>Files that the archive holds as a whole are shown with their content.
 *   <li>Files that are partly in a parent are only named; preserved files are left out.
 *   <li>A failure of the sink is told apart from one of the archive.
 * </ol>
 */
record SinkReceiver(Path archive, EntrySink sink) implements ArchiveReader.Receiver {

    @Override
    public void begin(ImageManifest manifest, List<BlockRuns> references) {}

    @Override
    public void entry(int number, EntryInfo entry, EntryContent content) throws IOException {
        if (entry.name().startsWith(ArchiveFormat.PRESERVED)) {
            return;
        }
        try {
            if (entry.runs() > 0) {
                sink.reference(entry.name(), entry.bytes(), entry.stored());
            } else {
                sink.entry(entry.name(), entry.bytes(), content);
            }
        } catch (IOException | RuntimeException e) {
            if (content.failure() != null) {
                throw content.failure();
            }
            throw new ImageException(Reason.INPUT_OUTPUT, archive, "'" + entry.name() + "': " + e.getMessage(), e);
        }
    }
}
