package io.jenkins.plugins.preemptible.agent;

import hudson.remoting.VirtualChannel;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import java.io.File;
import java.io.IOException;
import java.nio.file.FileVisitResult;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.SimpleFileVisitor;
import java.nio.file.attribute.BasicFileAttributes;
import jenkins.MasterToSlaveFileCallable;

/**
 * How far the image of a stage has come: bytes of CRIU's files, and of the archive that is made of them.
 *
 * <p>Reads sizes only. What cannot be read counts as nothing: files that come and go, and those of another user.
 */
final class ImageGrowth extends MasterToSlaveFileCallable<long[]> {

    private static final long serialVersionUID = 1L;

    private final String id;

    ImageGrowth(String id) {
        this.id = id;
    }

    @Override
    public long[] invoke(File home, VirtualChannel channel) throws IOException {
        return new long[] {
            images(home, id) + images(home, StageId.parse(id).contained().value()),
            bytes(home.toPath().resolve("exchange").resolve(id))
        };
    }

    private static long images(File home, String id) throws IOException {
        return bytes(home.toPath().resolve("stages").resolve(id).resolve("images"));
    }

    private static long bytes(Path folder) throws IOException {
        long[] sum = {0};
        if (Files.isDirectory(folder)) {
            Files.walkFileTree(folder, new SimpleFileVisitor<>() {
                @Override
                public FileVisitResult visitFile(Path file, BasicFileAttributes attributes) {
                    sum[0] += attributes.size();
                    return FileVisitResult.CONTINUE;
                }

                @Override
                public FileVisitResult visitFileFailed(Path file, IOException why) {
                    return FileVisitResult.CONTINUE;
                }
            });
        }
        return sum[0];
    }
}
