package io.jenkins.plugins.preemptible.engine.cli;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.PropertyNamingStrategies;
import com.fasterxml.jackson.databind.json.JsonMapper;
import io.jenkins.plugins.preemptible.engine.Engine;
import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
import io.jenkins.plugins.preemptible.engine.image.ImageException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/**
 * What every command needs: the engine, the key, the folder of this call, and a place for its output.
 *
 * <ol>
 *   <li>The home is {@code $PREEMPTIBLE_HOME}, else {@code preemptible} in {@code $XDG_STATE_HOME}, else in
 *       {@code $HOME/.local/state}.
 *   <li>Engine and key are opened on first use only: {@code --help} touches no disk.
 *   <li>Output that programs read is one JSON object on one line, with snake_case names.
 * </ol>
 *
 * One call of the command line uses it, on one thread.
 */
final class Context {

    private static final String KEY_FILE = "image.key";

    private final Map<String, String> environment;
    private final Path currentFolder;
    private final PrintWriter out;
    private Engine engine;

    /** @param currentFolder absolute; relative paths of the user are seen from there */
    Context(Map<String, String> environment, Path currentFolder, PrintWriter out) {
        this.environment = environment;
        this.currentFolder = currentFolder;
        this.out = out;
    }

    Path home() {
        String own = environment.get("PREEMPTIBLE_HOME");
        if (own != null && !own.isBlank()) {
            return resolve(Path.of(own));
        }
        String state = environment.get("XDG_STATE_HOME");
        // The XDG specification: a relative path in it is invalid and has to be ignored.
        if (state != null && state.startsWith("/")) {
            return Path.of(state, "preemptible");
        }
        String home = environment.getOrDefault("HOME", "");
        if (!home.startsWith("/")) {
            throw new RefusedException(
                    "Neither HOME nor PREEMPTIBLE_HOME names a folder for the stages; set PREEMPTIBLE_HOME to one");
        }
        return Path.of(home, ".local", "state", "preemptible");
    }

    Engine engine() {
        if (engine == null) {
            engine = Engine.open(home());
        }
        return engine;
    }

    Path resolve(Path path) {
        return currentFolder.resolve(path).normalize();
    }

    /** The key of new images, made on first use. */
    ImageKey sealingKey(Path keyFile) throws ImageException {
        return ImageKey.ofFile(keyPath(keyFile));
    }

    /** The key of images that are there already: a new one could open none of them. */
    ImageKey openingKey(Path keyFile) throws ImageException {
        Path path = keyPath(keyFile);
        if (!Files.exists(path)) {
            throw new RefusedException("There is no key file " + path
                    + ", so no image can be opened; give the one it was sealed with by --key-file");
        }
        return ImageKey.ofFile(path);
    }

    private Path keyPath(Path keyFile) {
        return keyFile == null ? home().resolve(KEY_FILE) : resolve(keyFile);
    }

    PrintWriter out() {
        return out;
    }

    Map<String, String> environment() {
        return environment;
    }

    void printJson(Object value) {
        try {
            out.println(Json.MAPPER.writeValueAsString(value));
        } catch (JsonProcessingException e) {
            throw new IllegalStateException("A result could not be written as JSON", e);
        }
    }

    private static final class Json {
        static final ObjectMapper MAPPER = JsonMapper.builder()
                // Names that a stage chose may hold what drives a terminal, above ASCII too.
                .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
                .propertyNamingStrategy(PropertyNamingStrategies.SNAKE_CASE)
                .build();
    }
}
