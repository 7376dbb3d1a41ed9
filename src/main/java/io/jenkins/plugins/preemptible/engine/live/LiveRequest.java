package io.jenkins.plugins.preemptible.engine.live;

import io.jenkins.plugins.preemptible.engine.api.DumpGuard;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;

/**
 * What a checkpoint of a running stage is to hold, and where it goes.
 *
 * @param archive of the processes, in an existing folder; replaced when it exists
 * @param luggage archive of the files, likewise
 * @param key of both
 * @param folders absolute, none inside of another; one that does not exist is left out
 * @param sized files whose sizes at that moment are wanted, such as logs
 * @param guard is asked once, while the stage stands still
 * @param longestStop after which a dump is given up and the stage runs on
 * @param mostFileBytes of all files
 * @param mostBytes of files that are copied while the stage stands still
 * @param bases earlier checkpoints that have the same key
 * @param floorBytes that stay free on the disk of the engine's home
 */
public record LiveRequest(
        Path archive,
        Path luggage,
        ImageKey key,
        Bases bases,
        List<Path> folders,
        List<Path> sized,
        DumpGuard guard,
        Duration longestStop,
        long mostFileBytes,
        long mostBytes,
        long floorBytes) {

    private static final Duration LONGEST_STOP = Duration.ofSeconds(30);
    private static final long MOST_BYTES = 512L << 20;
    private static final long FLOOR_BYTES = 1L << 30;

    public LiveRequest {
        folders = List.copyOf(folders);
        sized = List.copyOf(sized);
    }

    /** No guard, 30 s, 512 MiB, 1 GiB. */
    public static LiveRequest of(Path archive, Path luggage, ImageKey key, List<Path> folders) {
        return new LiveRequest(
                archive,
                luggage,
                key,
                Bases.NONE,
                folders,
                List.of(),
                DumpGuard.NONE,
                LONGEST_STOP,
                Long.MAX_VALUE,
                MOST_BYTES,
                FLOOR_BYTES);
    }

    /** The same, with a guard, and with files whose sizes are wanted. */
    public LiveRequest asking(DumpGuard asked, List<Path> files) {
        return new LiveRequest(
                archive, luggage, key, bases, folders, files, asked, longestStop, mostFileBytes, mostBytes, floorBytes);
    }

    /** The same, with other limits. */
    public LiveRequest within(Duration stop, long bytes, long floor) {
        return new LiveRequest(archive, luggage, key, bases, folders, sized, guard, stop, mostFileBytes, bytes, floor);
    }

    /** The same, unless the files have more than that. */
    public LiveRequest unlessLargerThan(long fileBytes) {
        return new LiveRequest(
                archive, luggage, key, bases, folders, sized, guard, longestStop, fileBytes, mostBytes, floorBytes);
    }

    /** The same, by reference to earlier checkpoints for what did not change. */
    public LiveRequest against(Bases earlier) {
        return new LiveRequest(
                archive,
                luggage,
                key,
                earlier,
                folders,
                sized,
                guard,
                longestStop,
                mostFileBytes,
                mostBytes,
                floorBytes);
    }
}
