package io.jenkins.plugins.preemptible.engine.cli;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import io.jenkins.plugins.preemptible.engine.cli.text.RefusedException;
import io.jenkins.plugins.preemptible.engine.image.ImageKey;
import io.jenkins.plugins.preemptible.engine.image.ImageManifest;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Usage and bad input; nothing here needs CRIU or root. */
class PreemptTest {

    @TempDir
    Path folder;

    private Path home;

    @BeforeEach
    void aHome() {
        home = folder.resolve("home");
    }

    private CommandLineCall call(String... args) {
        return CommandLineCall.of(home, args);
    }

    private Path anImage(ImageKey key) throws Exception {
        Path images = Files.createDirectory(folder.resolve("images"));
        Files.writeString(images.resolve("pages-1.img"), "pages");
        Path archive = folder.resolve("stage.image");
        List<ImageManifest.ProcessInfo> tree = List.of(
                new ImageManifest.ProcessInfo(1, 0, "init", ""),
                new ImageManifest.ProcessInfo(5, 1, "sh", "sh run.sh \033[31mred"),
                new ImageManifest.ProcessInfo(9, 5, "sleep", "sleep 1"));
        ImageArchive.write(
                images,
                archive,
                key,
                new ImageManifest(0, "afl-1", "AFL", "2026-11-21T12:00:00Z", "4.2.1", "6.18", "x86_64", 3, 0, tree));
        return archive;
    }

    private Path aKeyFile() throws Exception {
        Path file = folder.resolve("a.key");
        ImageKey.ofFile(file);
        return file;
    }

    @Test
    void noCommandAWrongOneAndAWrongOptionAreRefused() {
        call().refuses("A command is missing", "preempt --help");
        call("frobnicate").refuses("frobnicate");
        call("list", "--frob").refuses("--frob", "preempt list --help");
        call("list", "more").refuses("more");
        assertFalse(Files.exists(home));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "run",
                "wait",
                "list",
                "kill",
                "forget",
                "clean",
                "suspend",
                "resume",
                "inspect",
                "diff",
                "check",
                "demo",
                "simulate"
            })
    void everyCommandHasHelpWithTheExitStatuses(String command) {
        CommandLineCall help = call(command, "--help").exits(0);
        assertTrue(help.out().startsWith("Usage: preempt " + command), help.out());
        assertTrue(help.out().contains("3   the suspension failed, and the stage keeps running"), help.out());
        assertTrue(call("--help").out().contains("\n  " + command), command);
        assertFalse(Files.exists(home));
    }

    @ParameterizedTest
    @ValueSource(strings = {"wait", "kill", "forget", "suspend", "resume"})
    void anUnknownAndAnImpossibleIdAreRefused(String command) {
        String[] to = command.equals("suspend") ? new String[] {"--to", "x.image"} : new String[0];
        call(with(to, command, "no-such-stage")).refuses("no-such-stage");
        call(with(to, command, "../../etc")).refuses("../../etc", "preempt list");
        assertFalse(Files.exists(folder.resolve("x.image")));
    }

    private static String[] with(String[] more, String... args) {
        String[] all = Arrays.copyOf(args, args.length + more.length);
        System.arraycopy(more, 0, all, args.length, more.length);
        return all;
    }

    @Test
    void aMissingArgumentIsNamed() {
        call("wait").refuses("ID");
        call("kill").refuses("ID");
        call("suspend").refuses("ID");
        call("inspect").refuses("FILE");
        call("diff").refuses("A");
        call("diff", "a.image").refuses("B");
        call("resume").refuses("--from", "ID");
        call("resume", "--from", "x", "a-1").refuses("a-1");
        call("run").refuses("CMD");
    }

    @Test
    void aStageThatCannotStartIsNotStarted() throws Exception {
        Path script = Files.writeString(folder.resolve("not-executable.sh"), "true\n");
        call("run", "--dir", "nowhere", "--", "true")
                .refuses(folder.resolve("nowhere").toString(), "--dir");
        call("run", "--dir", script.toString(), "--", "true").refuses(script.toString());
        call("run", "--", "no-such-command").refuses("no-such-command");
        call("run", "--", "./not-executable.sh").refuses("./not-executable.sh");
        call("run", "--", "").refuses("''");
        assertFalse(Files.exists(home.resolve("stages")));
    }

    @Test
    void aFileThatIsMissingOrNoImageIsRefusedAndLeftAsItIs() throws Exception {
        String key = aKeyFile().toString();
        Path text = Files.writeString(folder.resolve("notes.txt"), "my notes");
        call("inspect", "nowhere.image", "--key-file", key).refuses("nowhere.image", "check the path");
        call("inspect", text.toString(), "--key-file", key).refuses("notes.txt", "no image");
        call("resume", "--from", "nowhere.image", "--key-file", key).refuses("nowhere.image");
        call("diff", "nowhere.image", text.toString(), "--key-file", key).refuses("nowhere.image", "check the path");
        call("diff", text.toString(), text.toString(), "--key-file", key).refuses("notes.txt", "no image");
        call("inspect", folder.toString(), "--key-file", key).refuses(folder.toString());
        assertEquals("my notes", Files.readString(text));
    }

    @Test
    void aCutAnOtherAndAForeignImageAreToldApart() throws Exception {
        Path keyFile = aKeyFile();
        String key = keyFile.toString();
        Path archive = anImage(ImageKey.ofFile(keyFile));
        byte[] whole = Files.readAllBytes(archive);
        Files.write(archive, Arrays.copyOf(whole, whole.length - 1));
        call("inspect", archive.toString(), "--key-file", key).refuses("stage.image", "cut off");
        call("diff", archive.toString(), archive.toString(), "--key-file", key).refuses("stage.image", "cut off");
        byte[] later = whole.clone();
        later[9] = 7;
        Files.write(archive, later);
        call("inspect", archive.toString(), "--key-file", key).refuses("stage.image", "it has 7, known is 2");
        Files.write(archive, whole);
        Path other = folder.resolve("other.key");
        ImageKey.ofFile(other);
        call("inspect", archive.toString(), "--key-file", other.toString()).refuses("stage.image", "another key");
    }

    @Test
    void aKeyFileIsNotMadeForAnImageThatIsThereAlready() throws Exception {
        Path archive = anImage(ImageKey.generate());
        call("inspect", archive.toString()).refuses(home.resolve("image.key").toString(), "--key-file");
        call("inspect", archive.toString(), "--key-file", "new.key").refuses("new.key");
        call("resume", "--from", archive.toString(), "--key-file", "new.key").refuses("new.key");
        assertFalse(Files.exists(folder.resolve("new.key")) || Files.exists(home.resolve("image.key")));
    }

    @Test
    void anInspectionShowsTheTreeAndTheFilesAndNoControlCharacters() throws Exception {
        Path keyFile = aKeyFile();
        Path archive = anImage(ImageKey.ofFile(keyFile));
        String text = call("inspect", archive.toString(), "--key-file", keyFile.toString())
                .exits(0)
                .out();
        assertTrue(text.contains("stage      afl-1 (AFL)"), text);
        assertTrue(text.contains("\n  1 [init]\n    5 sh run.sh ?[31mred\n      9 sleep 1\n"), text);
        assertTrue(text.contains("           5  pages-1.img"), text);
        assertTrue(text.contains("content    not shown: the image is not as CRIU 4.2 writes it: it has no list"), text);
        call("diff", archive.toString(), archive.toString(), "--key-file", keyFile.toString())
                .refuses("stage.image", "no list of processes", "preempt inspect");
        JsonNode json = call("inspect", "--json", archive.toString(), "--key-file", keyFile.toString())
                .exits(0)
                .json();
        assertEquals("afl-1", json.at("/manifest/stage_id").asText());
        assertEquals(5, json.at("/manifest/image_bytes").asInt());
        assertEquals(Files.size(archive), json.at("/archive_bytes").asLong());
        assertEquals("pages-1.img", json.at("/entries/0/name").asText());
        assertEquals(
                "sh run.sh \033[31mred",
                json.at("/manifest/tree/1/command_line").asText());
    }

    @Test
    void anEmptyHomeListsNothing() {
        CommandLineCall list = call("list").exits(0);
        assertEquals(1, list.out().lines().count(), list.out());
        assertTrue(list.out().startsWith("ID"), list.out());
    }

    @Test
    void aHomeThatCannotBeMadeIsNamed() throws Exception {
        Path file = Files.writeString(folder.resolve("file"), "");
        home = file.resolve("home");
        call("list").exits(ExitStatus.FAILED).says(home.toString(), "PREEMPTIBLE_HOME");
    }

    @Test
    void theHomeIsWhereTheEnvironmentSays() {
        assertEquals(Path.of("/own"), home(Map.of("PREEMPTIBLE_HOME", "/own", "HOME", "/h", "XDG_STATE_HOME", "/x")));
        assertEquals(Path.of("/anywhere/own"), home(Map.of("PREEMPTIBLE_HOME", "own", "HOME", "/h")));
        assertEquals(Path.of("/x/preemptible"), home(Map.of("HOME", "/h", "XDG_STATE_HOME", "/x")));
        assertEquals(Path.of("/h/.local/state/preemptible"), home(Map.of("HOME", "/h", "XDG_STATE_HOME", "relative")));
        assertThrows(RefusedException.class, () -> home(Map.of()));
    }

    private static Path home(Map<String, String> environment) {
        return new Context(environment, Path.of("/anywhere"), new PrintWriter(new StringWriter())).home();
    }

    @Test
    void theCheckSaysForEachMissingThingWhatMendsIt() throws Exception {
        CommandLineCall check = call("check", "--json");
        JsonNode json = check.json();
        check.exits(json.get("ok").asBoolean() ? 0 : 1);
        assertTrue(json.get("items").size() > 0);
        for (JsonNode item : json.get("items")) {
            assertFalse(item.get("name").asText().isBlank());
            assertEquals(item.get("ok").asBoolean(), item.get("remedy").asText().isBlank(), item.toString());
        }
        CommandLineCall text = call("check").exits(check.status());
        assertEquals(json.get("ok").asBoolean(), text.out().contains("This host can suspend stages."), text.out());
    }
}
