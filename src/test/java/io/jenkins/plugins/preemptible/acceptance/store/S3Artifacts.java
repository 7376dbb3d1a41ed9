package io.jenkins.plugins.preemptible.acceptance.store;

import hudson.FilePath;
import hudson.Launcher;
import hudson.model.BuildListener;
import hudson.model.Run;
import hudson.remoting.VirtualChannel;
import java.io.File;
import java.io.IOException;
import java.net.HttpURLConnection;
import java.net.URI;
import java.nio.file.Files;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import jenkins.MasterToSlaveFileCallable;
import jenkins.model.ArtifactManager;
import jenkins.model.ArtifactManagerConfiguration;
import jenkins.model.ArtifactManagerFactory;
import jenkins.util.VirtualFile;
import software.amazon.awssdk.services.s3.model.PutObjectRequest;

/**
 * Keeps artifacts in an {@link S3Server} as Jenkins' plugin for S3 does: sent from where they are to presigned addresses, in one
 * request each; none is ever removed alone, and none has a file.
 */
public final class S3Artifacts extends ArtifactManagerFactory {

    private static S3Server server;
    private static long mostBytes;

    /**
     * Takes the place of the standard archive for the builds that begin from now on.
     *
     * @param mostBytesARequest what is larger is refused, as S3 does at 5 GiB
     */
    public static void install(S3Server keeps, long mostBytesARequest) {
        server = keeps;
        mostBytes = mostBytesARequest;
        ArtifactManagerConfiguration.get().getArtifactManagerFactories().add(new S3Artifacts());
    }

    static S3Server server() {
        return server;
    }

    @Override
    public ArtifactManager managerFor(Run<?, ?> build) {
        return new OfBuild(build);
    }

    /** The artifacts of one build. */
    public static final class OfBuild extends ArtifactManager {
        private final String key;

        OfBuild(Run<?, ?> build) {
            key = build.getParent().getFullName() + "/" + build.getNumber();
        }

        @Override
        public void onLoad(Run<?, ?> build) {
            // All that is needed is saved.
        }

        @Override
        public void archive(
                FilePath workspace, Launcher launcher, BuildListener listener, Map<String, String> artifacts)
                throws IOException, InterruptedException {
            Map<String, String> addresses = new LinkedHashMap<>();
            artifacts.forEach((artifact, file) -> {
                PutObjectRequest put = PutObjectRequest.builder()
                        .bucket(S3Server.BUCKET)
                        .key(key + "/" + artifact)
                        .build();
                addresses.put(
                        file,
                        server.presigner()
                                .presignPutObject(request -> request.signatureDuration(Duration.ofHours(1))
                                        .putObjectRequest(put))
                                .url()
                                .toString());
            });
            workspace.act(new Sending(addresses, mostBytes));
        }

        @Override
        public boolean delete() {
            Map<String, Long> all = server.objects();
            all.keySet().removeIf(each -> !each.startsWith(key + "/"));
            all.keySet()
                    .forEach(each -> server.client()
                            .deleteObject(
                                    request -> request.bucket(S3Server.BUCKET).key(each)));
            return !all.isEmpty();
        }

        @Override
        public VirtualFile root() {
            return new S3File(key, "");
        }
    }

    /** Runs where the files are, which knows nothing of S3. */
    private static final class Sending extends MasterToSlaveFileCallable<Void> {
        private static final long serialVersionUID = 1L;
        private final Map<String, String> addresses;
        private final long mostBytes;

        Sending(Map<String, String> addresses, long mostBytes) {
            this.addresses = new LinkedHashMap<>(addresses);
            this.mostBytes = mostBytes;
        }

        @Override
        public Void invoke(File folder, VirtualChannel channel) throws IOException {
            for (Map.Entry<String, String> each : addresses.entrySet()) {
                File file = new File(folder, each.getKey());
                if (file.length() > mostBytes) {
                    throw new IOException("EntityTooLarge");
                }
                HttpURLConnection to =
                        (HttpURLConnection) URI.create(each.getValue()).toURL().openConnection();
                to.setRequestMethod("PUT");
                to.setDoOutput(true);
                to.setConnectTimeout(3_000);
                to.setReadTimeout(3_000);
                to.setFixedLengthStreamingMode(file.length());
                try (var out = to.getOutputStream()) {
                    Files.copy(file.toPath(), out);
                }
                if (to.getResponseCode() != HttpURLConnection.HTTP_OK) {
                    throw new IOException("the store has answered " + to.getResponseCode());
                }
            }
            return null;
        }
    }
}
