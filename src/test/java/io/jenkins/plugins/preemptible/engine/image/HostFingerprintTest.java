package io.jenkins.plugins.preemptible.engine.image;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.image.HostFingerprint.Objection;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class HostFingerprintTest {

    private static final HostFingerprint IMAGE = new HostFingerprint(
            "Xeon",
            List.of("sse2", "avx2", "avx512f"),
            "6.18",
            "x86_64",
            "4.2.1",
            "glibc 2.36",
            Map.of("/lib/libc.so", "aa"));

    private static List<Objection> here(
            List<String> features, String kernel, String arch, String criu, String libc, Map<String, String> ids) {
        return HostFingerprint.objections(IMAGE, new HostFingerprint("EPYC", features, kernel, arch, criu, libc, ids));
    }

    @Test
    void theSameHostAndABetterProcessorAreFine() {
        assertEquals(List.of(), HostFingerprint.objections(IMAGE, IMAGE));
        assertEquals(
                List.of(),
                here(List.of("avx512f", "avx2", "sse2", "amx"), "6.18", "x86_64", "4.2.1", "glibc 2.36", Map.of()));
    }

    @Test
    void anImageThatDoesNotSayIsNotObjectedTo() {
        assertEquals(List.of(), HostFingerprint.objections(null, IMAGE));
        HostFingerprint silent = new HostFingerprint(null, null, null, null, null, null, null);
        assertEquals(List.of(), HostFingerprint.objections(silent, IMAGE));
        assertEquals(List.of(), HostFingerprint.objections(IMAGE, silent));
    }

    @Test
    void aProcessorThatLacksFeaturesIsRefusedAndTheyAreNamed() {
        List<Objection> found =
                here(List.of("sse2"), "6.18", "x86_64", "4.2.1", "glibc 2.36", Map.of("/lib/libc.so", "aa"));
        assertEquals(1, found.size());
        assertTrue(found.get(0).refusal());
        assertTrue(
                found.get(0).sentence().contains("avx2, avx512f"), found.get(0).sentence());
        assertTrue(found.get(0).sentence().contains("EPYC"), found.get(0).sentence());
    }

    @Test
    void anotherArchitectureIsRefused() {
        List<Objection> found =
                here(List.of("sse2", "avx2", "avx512f"), "6.18", "aarch64", "4.2.1", "glibc 2.36", Map.of());
        assertTrue(found.get(0).refusal());
    }

    @Test
    void anotherKernelCriuLibraryAndBuildAreWarnings() {
        List<Objection> found = here(
                List.of("sse2", "avx2", "avx512f"),
                "6.12",
                "x86_64",
                "4.1",
                "glibc 2.41",
                Map.of("/lib/libc.so", "bb"));
        assertEquals(4, found.size());
        found.forEach(each -> assertFalse(each.refusal(), each.sentence()));
        assertTrue(
                found.get(3).sentence().contains("/lib/libc.so"), found.get(3).sentence());
    }
}
