package io.jenkins.plugins.preemptible.engine.stage;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.ContainerRef;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.host.HostProcess;
import io.jenkins.plugins.preemptible.engine.text.Script;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InvalidObjectException;
import java.io.ObjectInputStream;
import java.io.ObjectOutputStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class EnterCommandTest {

    private static final StageId ID = StageId.parse("fuzz-0123abcd");
    private static final String JOIN =
            "/sys/fs/cgroup/system.slice/jenkins\\x2dagent.service/preemptible-fuzz-0123abcd/cgroup.procs";
    private static final EnterCommand.Direct DIRECT =
            new EnterCommand.Direct(ID.value(), 4711, JOIN, "/usr/bin/nsenter", "/usr/bin/setsid");
    private static final EnterCommand.BySudo BY_SUDO =
            new EnterCommand.BySudo(ID.value(), "/usr/bin/sudo", "/usr/local/libexec/preemptible");

    @Test
    void theScriptsAreOurOwn() {
        assertEquals(
                List.of(
                        "/bin/sh",
                        "-c",
                        Script.text(EnterCommand.class, "enter.sh"),
                        "preemptible-enter",
                        "/usr/bin/nsenter",
                        "/usr/bin/setsid",
                        "4711",
                        JOIN,
                        Script.text(EnterCommand.class, "entered.sh")),
                DIRECT.words());
        assertEquals(
                List.of(
                        "/bin/sh",
                        "-c",
                        Script.text(EnterCommand.class, "enter-by-sudo.sh"),
                        "preemptible-enter",
                        "/usr/bin/sudo",
                        "/usr/local/libexec/preemptible",
                        ID.value()),
                BY_SUDO.words());
    }

    private static EnterCommand contained(String join, String rights, String perl, String architecture) {
        return contained(new HostProcess(2, 4711, BOOT), join, rights, perl, architecture);
    }

    private static EnterCommand contained(
            HostProcess init, String join, String rights, String perl, String architecture) {
        return new EnterCommand.Contained(
                ID.value(),
                new ContainerRef("docker", "0123456789ab"),
                init,
                List.of(join, "/sys/fs/cgroup/devices/docker/0123456789ab/cgroup.procs"),
                rights,
                perl,
                architecture);
    }

    private static final String BOOT = "01234567-89ab-cdef-0123-456789abcdef";
    private static final String RIGHTS = "/home/a b/preemptible/stages/fuzz/rights";
    private static final String PERL = "/usr/bin/perl";

    @Test
    void ofAStageInAContainer() {
        EnterCommand.Contained inside = (EnterCommand.Contained) contained(JOIN, RIGHTS, PERL, "amd64");
        assertEquals(Optional.of(inside), EnterCommand.of(inside.facts(), ID));
        List<String> words = inside.words("/w", List.of("A=b c"));
        assertEquals(List.of("/w", "1", "A=b c"), words.subList(words.size() - 3, words.size()));
        assertEquals(
                List.of(
                        "/usr/bin/env",
                        "-i",
                        "LC_ALL=C",
                        "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
                        PERL,
                        "-e"),
                words.subList(0, 6));
        assertEquals("amd64", words.get(7));
        refused(() -> contained("/sys/fs/cgroup/preemptible-other/cgroup.procs", RIGHTS, PERL, "amd64"));
        refused(() -> contained(JOIN, "rights", PERL, "amd64"));
        refused(() -> contained(JOIN, "/a/../etc/shadow", PERL, "amd64"));
        refused(() -> contained(JOIN, "/a\nb", PERL, "amd64"));
        refused(() -> contained(JOIN, RIGHTS, "/usr/bin/sh", "amd64"));
        refused(() -> contained(JOIN, RIGHTS, PERL, "sparc"));
        List<String> facts = new java.util.ArrayList<>(inside.facts());
        facts.set(3, "$(reboot)");
        assertEquals(Optional.empty(), EnterCommand.of(facts, ID));
    }

    /** A process id alone may be another process's by now, on the host itself. */
    @Test
    void ofAStageInAContainerOnlyWithTheStartOfItsFirstProcess() throws Exception {
        EnterCommand.Contained inside = (EnterCommand.Contained) contained(JOIN, RIGHTS, PERL, "amd64");
        List<String> words = inside.words();
        assertEquals(List.of("enter", "2", "4711", BOOT), words.subList(8, 12));
        assertEquals(inside, received(sent(inside)));
        for (HostProcess init : Arrays.asList(
                null,
                new HostProcess(1, 4711, BOOT),
                new HostProcess(2, 0, BOOT),
                new HostProcess(2, -1, BOOT),
                new HostProcess(2, 4711, null),
                new HostProcess(2, 4711, "unknown"))) {
            refused(() -> contained(init, JOIN, RIGHTS, PERL, "amd64"));
        }
        List<String> facts = new java.util.ArrayList<>(inside.facts());
        List<String> earlier = new java.util.ArrayList<>(facts.subList(0, 5));
        earlier.addAll(facts.subList(7, facts.size()));
        for (int groups = 0; groups < 4; groups++) {
            assertEquals(Optional.empty(), EnterCommand.of(earlier, ID), "it is of an earlier version");
            earlier.add("/sys/fs/cgroup/devices/docker/0123456789ab/cgroup.procs");
        }
    }

    @Test
    void factsAreReadAgain() {
        EnterCommand noGroup = new EnterCommand.Direct(ID.value(), 2, "", "/usr/bin/nsenter", "/usr/bin/setsid");
        for (EnterCommand one : List.of(DIRECT, BY_SUDO, noGroup)) {
            assertEquals(Optional.of(one), EnterCommand.of(one.facts(), ID));
            assertEquals(Optional.empty(), EnterCommand.of(one.facts(), StageId.parse("other")));
        }
    }

    @Test
    void ofAnEarlierVersionOnlyTheFactsAreTaken() {
        for (EnterCommand one : List.of(DIRECT, BY_SUDO)) {
            List<String> kept = new java.util.ArrayList<>(one.words());
            kept.set(2, "touch /tmp/owned");
            assertEquals(Optional.of(one), EnterCommand.of(kept, ID));
            assertEquals(one.words(), EnterCommand.of(kept, ID).orElseThrow().words());
        }
    }

    @Test
    void nothingElseIsRead() {
        List<List<?>> others = Arrays.asList(
                null,
                List.of(),
                Arrays.asList("direct", null),
                List.of("touch", "/tmp/owned"),
                List.of("/bin/sh", "-c", "touch /tmp/owned", "preemptible-enter", "x"),
                List.of("direct", ID.value(), "-1", JOIN, "/usr/bin/nsenter", "/usr/bin/setsid"),
                List.of("direct", ID.value(), "x", JOIN, "/usr/bin/nsenter", "/usr/bin/setsid"),
                List.of("sudo", ID.value(), "/usr/bin/sudo", 7));
        others.forEach(list -> assertEquals(Optional.empty(), EnterCommand.of(list, ID), String.valueOf(list)));
    }

    @ParameterizedTest
    @ValueSource(longs = {Long.MIN_VALUE, -1, 0, 1, 4_194_305, Long.MAX_VALUE})
    void processIdsAreNumbersOfTheKernel(long pid) {
        refused(() -> new EnterCommand.Direct(ID.value(), pid, JOIN, "/usr/bin/nsenter", "/usr/bin/setsid"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "/sys/fs/cgroup/preemptible-other/cgroup.procs",
                "/sys/fs/cgroup/preemptible-fuzz-0123abcd/cgroup.kill",
                "/sys/fs/cgroup/preemptible-fuzz-0123abcd/../cgroup.procs",
                "/sys/fs/cgroup/preemptible-fuzz-0123abcd/./cgroup.procs",
                "//preemptible-fuzz-0123abcd/cgroup.procs",
                "preemptible-fuzz-0123abcd/cgroup.procs",
                "/a b/preemptible-fuzz-0123abcd/cgroup.procs",
                "/$(reboot)/preemptible-fuzz-0123abcd/cgroup.procs",
                "/a\n/preemptible-fuzz-0123abcd/cgroup.procs",
                "/ö/preemptible-fuzz-0123abcd/cgroup.procs",
                "/cgroup.procs"
            })
    void controlGroupsAreThoseOfTheStage(String join) {
        refused(() -> new EnterCommand.Direct(ID.value(), 2, join, "/usr/bin/nsenter", "/usr/bin/setsid"));
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "nsenter",
                "/usr/bin/",
                "/usr/bin/sh",
                "/usr/bin/../bin/nsenter",
                "/bin/x;nsenter",
                "/",
                "//nsenter"
            })
    void toolsAreWhatTheyAreCalled(String tool) {
        refused(() -> new EnterCommand.Direct(ID.value(), 2, JOIN, tool, "/usr/bin/setsid"));
        refused(() -> new EnterCommand.Direct(ID.value(), 2, JOIN, "/usr/bin/nsenter", tool));
        refused(() -> new EnterCommand.BySudo(ID.value(), tool, "/usr/local/libexec/preemptible"));
    }

    @Test
    void nothingIsMissingAndNothingIsEndless() {
        String longest = "/" + "a/".repeat(100_000) + "nsenter";
        refused(() -> new EnterCommand.Direct(null, 2, JOIN, "/usr/bin/nsenter", "/usr/bin/setsid"));
        refused(() -> new EnterCommand.Direct("../x", 2, JOIN, "/usr/bin/nsenter", "/usr/bin/setsid"));
        refused(() -> new EnterCommand.Direct(ID.value(), 2, null, "/usr/bin/nsenter", "/usr/bin/setsid"));
        refused(() -> new EnterCommand.Direct(ID.value(), 2, JOIN, null, "/usr/bin/setsid"));
        refused(() -> new EnterCommand.Direct(ID.value(), 2, JOIN, longest, "/usr/bin/setsid"));
        refused(() -> new EnterCommand.BySudo(ID.value(), "/usr/bin/sudo", null));
        refused(() -> new EnterCommand.BySudo(ID.value(), "/usr/bin/sudo", "-n"));
    }

    @Test
    void isCheckedWhenItArrivesOverAWire() throws Exception {
        assertEquals(DIRECT, received(sent(DIRECT)));
        byte[] forged = replaced(sent(DIRECT), "/usr/bin/nsenter", "/usr/bin/reboot!");
        InvalidObjectException refused = assertThrows(InvalidObjectException.class, () -> received(forged));
        assertTrue(refused.getMessage().contains("plain"), refused.getMessage());
    }

    private static void refused(Runnable made) {
        assertThrows(IllegalArgumentException.class, made::run);
    }

    private static byte[] sent(Object value) throws IOException {
        ByteArrayOutputStream bytes = new ByteArrayOutputStream();
        try (ObjectOutputStream out = new ObjectOutputStream(bytes)) {
            out.writeObject(value);
        }
        return bytes.toByteArray();
    }

    private static Object received(byte[] bytes) throws IOException, ClassNotFoundException {
        try (ObjectInputStream in = new ObjectInputStream(new ByteArrayInputStream(bytes))) {
            return in.readObject();
        }
    }

    private static byte[] replaced(byte[] bytes, String old, String other) {
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        assertTrue(text.contains(old));
        return text.replace(old, other).getBytes(StandardCharsets.ISO_8859_1);
    }
}
