package io.jenkins.plugins.preemptible.acceptance.store;

import java.io.IOException;
import java.io.InputStream;
import java.net.URI;
import java.net.URL;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import jenkins.util.VirtualFile;
import software.amazon.awssdk.core.exception.SdkException;
import software.amazon.awssdk.services.s3.model.GetObjectRequest;
import software.amazon.awssdk.services.s3.model.HeadObjectResponse;
import software.amazon.awssdk.services.s3.model.NoSuchKeyException;

/** An object in the store, or what the keys of others begin with. */
final class S3File extends VirtualFile {

    private static final long serialVersionUID = 1L;

    private final String root;
    /** Below the root, without a slash at its ends; empty for the root itself. */
    private final String path;

    S3File(String root, String path) {
        this.root = root;
        this.path = path;
    }

    private String key() {
        return path.isEmpty() ? root : root + "/" + path;
    }

    /** What cannot be had is told as Jenkins expects it. */
    private static <T> T asking(Supplier<T> store) throws IOException {
        try {
            return store.get();
        } catch (SdkException x) {
            throw new IOException("the store does not answer", x);
        }
    }

    private Optional<HeadObjectResponse> head() throws IOException {
        return asking(() -> {
            try {
                return Optional.of(S3Artifacts.server()
                        .client()
                        .headObject(request -> request.bucket(S3Server.BUCKET).key(key())));
            } catch (NoSuchKeyException x) {
                return Optional.empty();
            }
        });
    }

    @Override
    public String getName() {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    @Override
    public URI toURI() {
        return URI.create("https://" + S3Server.BUCKET + ".s3.example/" + key().replace(" ", "%20"));
    }

    @Override
    public VirtualFile getParent() {
        return path.isEmpty() ? null : new S3File(root, path.substring(0, Math.max(0, path.lastIndexOf('/'))));
    }

    @Override
    public boolean isDirectory() throws IOException {
        return list().length > 0;
    }

    @Override
    public boolean isFile() throws IOException {
        return head().isPresent();
    }

    @Override
    public boolean exists() throws IOException {
        return isFile() || isDirectory();
    }

    @Override
    public VirtualFile[] list() throws IOException {
        String before = key() + "/";
        Map<String, Long> all = asking(S3Artifacts.server()::objects);
        List<String> names = all.keySet().stream()
                .filter(key -> key.startsWith(before))
                .map(key -> key.substring(before.length()).split("/", 2)[0])
                .distinct()
                .toList();
        return names.stream().map(this::child).toArray(VirtualFile[]::new);
    }

    @Override
    public VirtualFile child(String name) {
        return new S3File(root, path.isEmpty() ? name : path + "/" + name);
    }

    @Override
    public long length() throws IOException {
        return head().map(HeadObjectResponse::contentLength).orElse(0L);
    }

    @Override
    public long lastModified() throws IOException {
        return head().map(object -> object.lastModified().toEpochMilli()).orElse(0L);
    }

    @Override
    public boolean canRead() throws IOException {
        return true;
    }

    @Override
    public InputStream open() throws IOException {
        return asking(() -> S3Artifacts.server()
                .client()
                .getObject(request -> request.bucket(S3Server.BUCKET).key(key())));
    }

    @Override
    public URL toExternalURL() {
        GetObjectRequest get =
                GetObjectRequest.builder().bucket(S3Server.BUCKET).key(key()).build();
        return S3Artifacts.server()
                .presigner()
                .presignGetObject(request ->
                        request.signatureDuration(Duration.ofHours(1)).getObjectRequest(get))
                .url();
    }
}
