package io.jenkins.plugins.preemptible.engine.image;

import com.google.crypto.tink.InsecureSecretKeyAccess;
import com.google.crypto.tink.KeysetHandle;
import com.google.crypto.tink.RegistryConfiguration;
import com.google.crypto.tink.StreamingAead;
import com.google.crypto.tink.TinkJsonProtoKeysetFormat;
import com.google.crypto.tink.streamingaead.PredefinedStreamingAeadParameters;
import com.google.crypto.tink.streamingaead.StreamingAeadConfig;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/**
 * The data key with which one stage's images are sealed, a Tink keyset of AES256_GCM_HKDF_1MB.
 *
 * <ol>
 *   <li>It is made by {@link #generate}, or read from what {@link #export} gave, or kept in a file of the user's own.
 *   <li>The controller keeps the exported text among its secrets; an agent has it only while it seals or opens.
 *   <li>Its text appears nowhere but in {@link #export}: neither in {@link #toString} nor in a message.
 * </ol>
 *
 * Immutable, safe for any thread. Source: Tink, "I want to encrypt large files or data streams".
 */
public final class ImageKey {

    private static final int LARGEST_KEYSET_CHARS = 64 * 1024;

    private final KeysetHandle keyset;

    private ImageKey(KeysetHandle keyset) {
        this.keyset = keyset;
    }

    /** Makes a new key from the system's secure random source. */
    public static ImageKey generate() {
        try {
            StreamingAeadConfig.register();
            return new ImageKey(KeysetHandle.generateNew(PredefinedStreamingAeadParameters.AES256_GCM_HKDF_1MB));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(
                    "This Java has no AES-GCM, so no stage can be suspended with it; use a stock Java 17 or newer", e);
        }
    }

    /**
     * Reads what {@link #export} gave.
     *
     * @throws IllegalArgumentException when it is no such text; the message is for people and shows nothing of it
     */
    public static ImageKey parse(String text) {
        if (text == null || text.isBlank() || text.length() > LARGEST_KEYSET_CHARS) {
            throw new IllegalArgumentException("This is no image key: a JSON keyset is expected");
        }
        try {
            StreamingAeadConfig.register();
            ImageKey key = new ImageKey(TinkJsonProtoKeysetFormat.parseKeyset(text, InsecureSecretKeyAccess.get()));
            key.cipher();
            return key;
        } catch (GeneralSecurityException | RuntimeException e) {
            // The cause is left out on purpose: parsers like to quote what they were given.
            throw new IllegalArgumentException(
                    "This is no image key: a JSON keyset for streaming encryption is expected");
        }
    }

    /**
     * Reads the key in a file, or makes one there, readable by its owner only, when there is no such file.
     *
     * @throws ImageException with reason BAD_KEY when the file holds something else, INPUT_OUTPUT when it cannot be
     *     read or made
     */
    public static ImageKey ofFile(Path file) throws ImageException {
        try {
            if (!Files.exists(file)) {
                return makeIn(file);
            }
            if (Files.size(file) > LARGEST_KEYSET_CHARS) {
                throw new ImageException(ImageException.Reason.BAD_KEY, file, null, null);
            }
            return parse(Files.readString(file, StandardCharsets.UTF_8));
        } catch (IllegalArgumentException | java.nio.charset.CharacterCodingException e) {
            throw new ImageException(ImageException.Reason.BAD_KEY, file, null, null);
        } catch (ImageException e) {
            throw e;
        } catch (IOException e) {
            throw new ImageException(ImageException.Reason.INPUT_OUTPUT, file, ImageException.words(e), e);
        }
    }

    private static ImageKey makeIn(Path file) throws IOException {
        ImageKey key = generate();
        Path folder = file.toAbsolutePath().getParent();
        Files.createDirectories(folder);
        // Written aside and linked into place: another process that makes the same file at the same time either sees
        // all of this key or wins, and then its key is used here too.
        Path whole = Files.createTempFile(
                folder,
                ".key",
                null,
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        try {
            Files.writeString(whole, key.export());
            Files.createLink(file, whole);
            return key;
        } catch (FileAlreadyExistsException e) {
            return parse(Files.readString(file, StandardCharsets.UTF_8));
        } finally {
            Files.deleteIfExists(whole);
        }
    }

    /** By which one knows the key again without having it: SHA-256 of what {@link #export} gives, 32 bytes. */
    public byte[] digest() {
        try {
            return MessageDigest.getInstance("SHA-256").digest(export().getBytes(StandardCharsets.UTF_8));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The key in clear text, a JSON keyset: for the controller's store of secrets, never for a log. */
    public String export() {
        try {
            return TinkJsonProtoKeysetFormat.serializeKeyset(keyset, InsecureSecretKeyAccess.get());
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("Tink cannot write the key that it made", e);
        }
    }

    public StreamingAead cipher() throws GeneralSecurityException {
        StreamingAeadConfig.register();
        return keyset.getPrimitive(RegistryConfiguration.get(), StreamingAead.class);
    }

    @Override
    public String toString() {
        return "image key";
    }
}
