package io.jenkins.plugins.preemptible.acceptance.store;

import static org.awaitility.Awaitility.await;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.host.LibC;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.stream.Collectors;
import software.amazon.awssdk.auth.credentials.AwsBasicCredentials;
import software.amazon.awssdk.auth.credentials.StaticCredentialsProvider;
import software.amazon.awssdk.core.checksums.RequestChecksumCalculation;
import software.amazon.awssdk.core.sync.RequestBody;
import software.amazon.awssdk.http.urlconnection.UrlConnectionHttpClient;
import software.amazon.awssdk.regions.Region;
import software.amazon.awssdk.services.s3.S3Client;
import software.amazon.awssdk.services.s3.S3Configuration;
import software.amazon.awssdk.services.s3.model.S3Object;
import software.amazon.awssdk.services.s3.presigner.S3Presigner;

/** A real S3 server on this machine, of the Python package moto, with one bucket. Its objects end with it. */
public final class S3Server implements AutoCloseable {

    static final String BUCKET = "builds";

    private static final StaticCredentialsProvider USER =
            StaticCredentialsProvider.create(AwsBasicCredentials.create("test", "test"));
    private static final S3Configuration BY_PATH =
            S3Configuration.builder().pathStyleAccessEnabled(true).build();

    private final Process process;
    private final S3Client client;
    private final S3Presigner presigner;

    private S3Server(Process process, URI address) {
        this.process = process;
        client = S3Client.builder()
                .endpointOverride(address)
                .region(Region.US_EAST_1)
                .credentialsProvider(USER)
                .serviceConfiguration(BY_PATH)
                .requestChecksumCalculation(RequestChecksumCalculation.WHEN_REQUIRED)
                // Shorter than a test waits for a server that stands still.
                .httpClientBuilder(UrlConnectionHttpClient.builder().socketTimeout(Duration.ofSeconds(3)))
                .overrideConfiguration(each -> each.apiCallTimeout(Duration.ofSeconds(10)))
                .build();
        presigner = S3Presigner.builder()
                .endpointOverride(address)
                .region(Region.US_EAST_1)
                .credentialsProvider(USER)
                .serviceConfiguration(BY_PATH)
                .build();
    }

    /** Skips the test, with the reason, where there is none. */
    public static S3Server start() throws IOException {
        Path program = CriuSearch.prefix().resolve("s3/bin/moto_server");
        assumeTrue(Files.isExecutable(program), "there is no S3 server (.ci/setup --tests installs one, if it can)");
        int port;
        try (ServerSocket free = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            port = free.getLocalPort();
        }
        Process process = new ProcessBuilder(program.toString(), "-H", "127.0.0.1", "-p", String.valueOf(port))
                .redirectErrorStream(true)
                .redirectOutput(new File("/dev/null"))
                .start();
        S3Server server = new S3Server(process, URI.create("http://127.0.0.1:" + port));
        try {
            await("an S3 server")
                    .atMost(Duration.ofMinutes(1))
                    .ignoreExceptions()
                    .until(() -> server.client.createBucket(bucket -> bucket.bucket(BUCKET)) != null);
        } catch (RuntimeException x) {
            server.close();
            throw x;
        }
        return server;
    }

    S3Client client() {
        return client;
    }

    S3Presigner presigner() {
        return presigner;
    }

    /** Sizes in bytes of all objects, by their keys. */
    public Map<String, Long> objects() {
        return client.listObjectsV2Paginator(request -> request.bucket(BUCKET)).contents().stream()
                .collect(Collectors.toMap(S3Object::key, S3Object::size));
    }

    /** Puts another object in the place of one. */
    public void replace(String key, String content) {
        client.putObject(request -> request.bucket(BUCKET).key(key), RequestBody.fromString(content));
    }

    /** From now on it takes connections and answers nothing. */
    public void standStill() {
        assertTrue(LibC.kill(process.pid(), LibC.SIGSTOP));
    }

    public void goOn() {
        assertTrue(LibC.kill(process.pid(), LibC.SIGCONT));
    }

    @Override
    public void close() {
        client.close();
        presigner.close();
        process.destroyForcibly();
    }
}
