package io.jenkins.plugins.preemptible.lifecycle.image;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.lifecycle.image.ImageParts.Part;
import java.util.List;
import org.junit.jupiter.api.Test;

class ImagePartsTest {

    @Test
    void whatOneRequestTakesKeepsItsName() {
        assertEquals(List.of(new Part("image", 0, 0)), ImageParts.of("image", 0, 10));
        assertEquals(List.of(new Part("image", 0, 10)), ImageParts.of("image", 10, 10));
        assertTrue(ImageParts.mostBytes() < 5L << 30, "what S3 takes in one request");
    }

    @Test
    void theWholeIsDividedOnce() {
        assertEquals(
                List.of(new Part("image.1-of-2", 0, 10), new Part("image.2-of-2", 10, 1)),
                ImageParts.of("image", 11, 10));
        long large = 3 * (5L << 30) + 7;
        List<Part> parts = ImageParts.of("image", large, ImageParts.mostBytes());
        long next = 0;
        for (Part part : parts) {
            assertEquals(next, part.offset());
            assertTrue(part.bytes() > 0 && part.bytes() <= ImageParts.mostBytes(), part::toString);
            next += part.bytes();
        }
        assertEquals(large, next);
        assertEquals("image.4-of-16", parts.get(3).file());
    }

    @Test
    void partsAreKnownByTheirNames() {
        for (Part part : ImageParts.of("image", 25, 10)) {
            assertTrue(ImageParts.isOf("image", part.file()), part::toString);
        }
        assertTrue(ImageParts.isOf("image", "image"));
        for (String other : List.of("image.1", "image.1-of-", "image.1-of-2.old", "images", "other", "imag")) {
            assertFalse(ImageParts.isOf("image", other), other);
        }
    }
}
