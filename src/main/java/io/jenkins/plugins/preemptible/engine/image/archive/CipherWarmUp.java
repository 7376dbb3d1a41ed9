package io.jenkins.plugins.preemptible.engine.image.archive;

import com.google.crypto.tink.KeysetHandle;
import com.google.crypto.tink.RegistryConfiguration;
import com.google.crypto.tink.StreamingAead;
import com.google.crypto.tink.streamingaead.AesGcmHkdfStreamingParameters;
import com.google.crypto.tink.streamingaead.AesGcmHkdfStreamingParameters.HashType;
import com.google.crypto.tink.streamingaead.StreamingAeadConfig;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.security.GeneralSecurityException;
import java.time.Duration;

/**
 * Makes a young JVM compile AES-GCM before an image needs it.
 *
 * <ol>
 *   <li>Java's GCM has machine code for the processor's instructions, but uses it only where the calling methods were
 *       compiled for good, and that takes thousands of calls. Segments of 1 MiB are few calls, each interpreted byte by byte:
 *       20 ms for a MiB, and 5 ms for the first 500 MiB (JDK 17 and 25); 0.6 ms where they are compiled.
 *   <li>So many small segments are sealed and opened with a key that is thrown away, and some of 1 MiB in between: without
 *       these JDK 25 stays at 5 ms. Small ones have more than the 7680 bytes from which on the machine code is used.
 *   <li>It ends when a MiB is fast both ways, after 0.7 s on most machines; after {@link #LONGEST} where it never is.
 *   <li>It runs once a JVM, on a thread of its own of the least priority. An agent begins it when it connects.
 * </ol>
 *
 * Safe for any thread.
 */
public final class CipherWarmUp {

    /** An image of that size takes longer without it than it takes. */
    static final long WORTH_BYTES = 64L << 20;

    private static final int SMALL = 9000;
    private static final int LARGE = 1 << 20;
    private static final int SMALL_AT_A_TIME = 1000;
    private static final int LARGE_AT_A_TIME = 4;
    private static final double FAST_MILLIS = 1.5;
    static final Duration LONGEST = Duration.ofSeconds(3);

    private CipherWarmUp() {}

    private static final class Once {
        static final Thread THREAD = begin();

        /** Only initializes this class. */
        static void touch() {}

        private static Thread begin() {
            Thread thread = new Thread(CipherWarmUp::run, "image-cipher-warm-up");
            thread.setDaemon(true);
            thread.setPriority(Thread.MIN_PRIORITY);
            thread.start();
            return thread;
        }
    }

    /** Begins it, unless it began before; returns at once. Worth calling as early as a suspension is in sight. */
    public static void begin() {
        Once.touch();
    }

    /** Begins it and waits for its end: for an image that is large enough to be worth up to {@link #LONGEST}. */
    static void await() throws IOException {
        try {
            Once.THREAD.join();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new java.io.InterruptedIOException("interrupted");
        }
    }

    private static void run() {
        try {
            StreamingAeadConfig.register();
            StreamingAead small = cipher(SMALL);
            StreamingAead large = cipher(LARGE);
            long began = System.nanoTime();
            double millis;
            do {
                slower(small, SMALL, SMALL_AT_A_TIME);
                millis = slower(large, LARGE, LARGE_AT_A_TIME);
            } while (millis / LARGE_AT_A_TIME > FAST_MILLIS && System.nanoTime() - began < LONGEST.toNanos());
        } catch (GeneralSecurityException | IOException e) {
            // The image's own sealing will say what is wrong; this was for speed only.
        }
    }

    private static StreamingAead cipher(int segment) throws GeneralSecurityException {
        return KeysetHandle.generateNew(AesGcmHkdfStreamingParameters.builder()
                        .setKeySizeBytes(32)
                        .setDerivedAesGcmKeySizeBytes(32)
                        .setHkdfHashType(HashType.SHA256)
                        .setCiphertextSegmentSizeBytes(segment)
                        .build())
                .getPrimitive(RegistryConfiguration.get(), StreamingAead.class);
    }

    /** Seals and opens so many segments; the milliseconds of what took longer. */
    private static double slower(StreamingAead cipher, int segment, int segments)
            throws GeneralSecurityException, IOException {
        ByteArrayOutputStream sealed = new ByteArrayOutputStream(segment * (segments + 1));
        byte[] plain = new byte[segment];
        long began = System.nanoTime();
        try (OutputStream out = cipher.newEncryptingStream(sealed, new byte[0])) {
            for (int i = 0; i < segments; i++) {
                out.write(plain);
            }
        }
        long there = System.nanoTime();
        cipher.newDecryptingStream(new ByteArrayInputStream(sealed.toByteArray()), new byte[0])
                .transferTo(OutputStream.nullOutputStream());
        return Math.max(there - began, System.nanoTime() - there) / 1e6;
    }
}
