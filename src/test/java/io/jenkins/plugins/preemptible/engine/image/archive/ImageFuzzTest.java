package io.jenkins.plugins.preemptible.engine.image.archive;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ImageFuzzTest {

    private static final long SEED = 20261121L;

    @TempDir
    Path folder;

    private void search(long seed, int count) throws Exception {
        System.out.println("image fuzz: seed " + seed + ", " + count + " rounds");
        ImageFuzz fuzz = new ImageFuzz(folder.toRealPath(), seed);
        Map<ImageFuzz.Way, Integer> tried = fuzz.run(count);
        System.out.println("image fuzz: " + tried + " refused as " + fuzz.reasons());
        assertEquals(ImageFuzz.Way.values().length, tried.size(), tried.toString());
        int all = tried.values().stream().mapToInt(Integer::intValue).sum();
        assertTrue(all >= count * 9 / 10, "only " + all + " of " + count + " rounds changed anything");
    }

    @Test
    void tenThousandBrokenImagesAreRefused() throws Exception {
        search(SEED, 11_200);
    }

    /** By {@code ./preempt fuzz}; FUZZ_SEED and FUZZ_COUNT choose another search. */
    @Test
    @Tag("fuzz")
    void manyMoreBrokenImagesAreRefused() throws Exception {
        String seed = System.getenv("FUZZ_SEED");
        String count = System.getenv("FUZZ_COUNT");
        search(
                seed == null ? System.nanoTime() : Long.parseLong(seed),
                count == null ? 500_000 : Integer.parseInt(count));
    }
}
