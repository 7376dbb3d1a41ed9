package io.jenkins.plugins.preemptible.engine.criu;

import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.stage.StageFolder;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.List;
import java.util.Optional;

/**
 * A gate at which a criu waits.
 *
 * <ol>
 *   <li>At a dump: once it has started and not yet touched the tree, so its start does not count while a stage stands still.
 *   <li>At a restore: once all processes are there and none of them runs yet.
 *   <li>criu runs a script then ({@code --action-script}), which says that it is there and waits for a word.
 *   <li>{@link #open} ends the waiting. The end of this object, or of this process, lets the script fail, and with it the
 *       dump or the restore.
 * </ol>
 *
 * For one of them. Source: criu(8), {@code pre-dump} and {@code post-restore}; fifo(7): opened for both it never blocks.
 */
public final class CriuGate implements AutoCloseable {

    private final Path folder;
    private final FileChannel words;

    private CriuGate(Path folder, FileChannel words) {
        this.folder = folder;
        this.words = words;
    }

    /**
     * Makes one for a dump.
     *
     * @param folder that does not exist yet; removed at the end
     * @return empty where no program can be run from there
     */
    public static Optional<CriuGate> ofDump(Path folder) throws IOException {
        return in(folder, "pre-dump");
    }

    /** Makes one for a restore, as {@link #ofDump}. */
    static Optional<CriuGate> ofRestore(Path folder) throws IOException {
        return in(folder, "post-restore");
    }

    private static Optional<CriuGate> in(Path folder, String action) throws IOException {
        Files.createDirectory(
                folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        Path script = Files.writeString(
                folder.resolve("gate"),
                "#!/bin/sh\naction=" + action + "\n" + Script.text(CriuGate.class, "gate.sh") + "\n");
        Files.setPosixFilePermissions(script, PosixFilePermissions.fromString("rwx------"));
        Path word = folder.resolve("go");
        Optional<Path> mkfifo = HostTool.find("mkfifo");
        // Not so on file systems that are mounted noexec.
        if (!Files.isExecutable(script)
                || mkfifo.isEmpty()
                || !HostTool.run(10, List.of(mkfifo.get().toString(), word.toString()))
                        .ok()) {
            StageFolder.delete(folder);
            return Optional.empty();
        }
        return Optional.of(
                new CriuGate(folder, FileChannel.open(word, StandardOpenOption.READ, StandardOpenOption.WRITE)));
    }

    Path script() {
        return folder.resolve("gate");
    }

    /** Whether criu waits. */
    public boolean reached() {
        return Files.exists(folder.resolve("reached"));
    }

    public void open() throws IOException {
        words.write(ByteBuffer.wrap("go\n".getBytes(StandardCharsets.US_ASCII)));
    }

    /** A criu that waits yet fails. */
    @Override
    public void close() throws IOException {
        words.close();
        StageFolder.delete(folder);
    }
}
