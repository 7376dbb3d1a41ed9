package io.jenkins.plugins.preemptible.engine.content;

import io.jenkins.plugins.preemptible.engine.content.format.CriuFields;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import io.jenkins.plugins.preemptible.engine.content.format.Message;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/**
 * The TCP connections in CRIU's files.
 *
 * <ol>
 *   <li>Those are what a restore makes again: each socket that has, or had, a peer.
 *   <li>A closed one is among them: CRIU keeps its peer's address.
 * </ol>
 */
public final class TcpConnections {

    private static final String STREAM = "stream";

    private TcpConnections() {}

    /**
     * @param imageFolder as a dump left it
     * @throws IOException when its {@code files.img} cannot be read or understood; an image without one has none
     */
    public static List<SocketContent> of(Path imageFolder) throws IOException {
        Path files = imageFolder.resolve("files.img");
        if (!Files.exists(files)) {
            return List.of();
        }
        List<Message> sockets = new ArrayList<>();
        for (Message entry :
                ImageFile.parse("files.img", Files.readAllBytes(files)).messages()) {
            if (FileKind.of(entry.number(CriuFields.FileEntry.TYPE)) == FileKind.INET_SOCKET) {
                sockets.add(entry);
            }
        }
        return SocketTable.of(sockets).stream()
                .filter(s -> s.type().equals(STREAM) && !s.peer().isEmpty())
                .toList();
    }
}
