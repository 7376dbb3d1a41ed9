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

/**
 * Makes a young JVM compile AES-GCM before an image needs it.
 *
 * <ol>
 *   <li>Java's GCM has machine code for the processor's instructions, but uses it only where the calling methods were
 *       compiled, and that takes thousands of calls. Segments of 1 MiB are few calls, each interpreted byte by byte:
 *       1.5 s for 64 MiB, and no faster for the first 400 MiB (JDK 17).
 *   <li>So 20,000 segments of 512 bytes are sealed and opened with a key that is thrown away: 0.3 s, and the first
 *       64 MiB of the image then take 35 ms.
 *   <li>It runs once a JVM, on a thread of its own of the least priority; nothing waits for it.
 * </ol>
 *
 * Safe for any thread.
 */
public final class CipherWarmUp {

    private static final int SEGMENT = 512;
    private static final int SEGMENTS = 20_000;
    private static final int TAG = 16;

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

    /** Begins it and waits for its end: for an image that is large enough to be worth the wait. */
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
            StreamingAead cipher = KeysetHandle.generateNew(AesGcmHkdfStreamingParameters.builder()
                            .setKeySizeBytes(32)
                            .setDerivedAesGcmKeySizeBytes(32)
                            .setHkdfHashType(HashType.SHA256)
                            .setCiphertextSegmentSizeBytes(SEGMENT)
                            .build())
                    .getPrimitive(RegistryConfiguration.get(), StreamingAead.class);
            ByteArrayOutputStream sealed = new ByteArrayOutputStream(SEGMENT * SEGMENTS);
            byte[] segment = new byte[SEGMENT - TAG];
            try (OutputStream out = cipher.newEncryptingStream(sealed, new byte[0])) {
                for (int i = 0; i < SEGMENTS; i++) {
                    out.write(segment);
                }
            }
            cipher.newDecryptingStream(new ByteArrayInputStream(sealed.toByteArray()), new byte[0])
                    .transferTo(OutputStream.nullOutputStream());
        } catch (GeneralSecurityException | IOException e) {
            // The image's own sealing will say what is wrong; this was for speed only.
        }
    }
}
