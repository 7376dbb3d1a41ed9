package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageSpec;
import io.jenkins.plugins.preemptible.engine.content.ContentReader;
import io.jenkins.plugins.preemptible.engine.content.ContentReader.Detail;
import io.jenkins.plugins.preemptible.engine.content.FileContent;
import io.jenkins.plugins.preemptible.engine.content.FileKind;
import io.jenkins.plugins.preemptible.engine.content.ImageContent;
import io.jenkins.plugins.preemptible.engine.content.ImageDifference;
import io.jenkins.plugins.preemptible.engine.content.MemoryKind;
import io.jenkins.plugins.preemptible.engine.content.ProcessContent;
import io.jenkins.plugins.preemptible.engine.content.ProcessContent.State;
import io.jenkins.plugins.preemptible.engine.content.SocketContent;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import io.jenkins.plugins.preemptible.engine.image.archive.ImageArchive;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** What a real image says of a program that holds one of each kind of thing, and what changed in its next one. */
@Tag("host")
@Timeout(600)
class ImageContentTest {

    private static final Duration SOON = Duration.ofSeconds(120);

    @Test
    void anImageShowsWhatTheStageHolds() throws Exception {
        assumeTrue(HostTool.find("gcc").isPresent(), "there is no C compiler");
        try (StageBench bench = StageBench.open()) {
            Path program = compile(bench);
            StageId id = bench.engine
                    .start(new StageSpec(
                            StageId.create("test"),
                            "test",
                            bench.work,
                            List.of(program.toString(), "an argument", ""),
                            Map.of("SECRET", "hunter2", "PATH", "/usr/bin:/bin")))
                    .id();
            StageBench.until(
                    "a start",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 0);
            bench.engine.suspend(id, bench.archive(id), bench.key);
            ContentReader first = read(bench, id, Set.of(Detail.ENVIRONMENT, Detail.PAGE_DIGESTS));
            assertWhole(bench, program, first.content());
            ImageContent brief = read(bench, id, Set.of()).content();
            brief.processes().forEach(p -> assertNull(p.environment(), "environments are shown on demand only"));

            bench.engine.resume(bench.archive(id), bench.key);
            Files.createFile(bench.work.resolve("go"));
            StageBench.until(
                    "changes",
                    SOON,
                    () -> StageBench.lines(bench.engine.status(id).output()) > 1);
            bench.engine.suspend(id, bench.archive(id), bench.key);
            assertChanges(ImageDifference.between(
                    ImageDifference.Side.of(first),
                    ImageDifference.Side.of(read(bench, id, Set.of(Detail.PAGE_DIGESTS)))));
        }
    }

    private static ContentReader read(StageBench bench, StageId id, Set<Detail> details) throws IOException {
        ContentReader reader = new ContentReader(details);
        ImageArchive.inspect(bench.archive(id), bench.key, reader);
        return reader;
    }

    private static void assertWhole(StageBench bench, Path program, ImageContent content) throws IOException {
        assertEquals(4, content.processes().size());
        ProcessContent init = content.processes().get(0);
        assertEquals(List.of(1L, 0L), List.of(init.pid(), init.ppid()));
        ProcessContent holder = named(content, "holdings");
        assertEquals(List.of(program.toString(), "an argument"), holder.commandLine());
        assertTrue(holder.environment().contains("SECRET=hunter2"), holder.environment()::toString);
        assertEquals(program.toString(), holder.executable());
        assertEquals(bench.work.toString(), holder.workFolder());
        assertEquals(List.of(0L, 0L), List.of(holder.uid(), holder.egid()));
        assertEquals(
                List.of("holdings", "second-thread"),
                holder.threads().stream()
                        .map(ProcessContent.ThreadContent::comm)
                        .toList());
        assertEquals(1024, holder.limits().get(7).soft(), "nofile");
        ProcessContent sleeper = named(content, "sleep");
        assertEquals(List.of("a\033]0;title\007", "1000"), sleeper.commandLine());
        assertEquals(holder.pid(), sleeper.ppid());
        ProcessContent zombie = content.processes().stream()
                .filter(p -> p.state() == State.ZOMBIE)
                .findFirst()
                .orElseThrow();
        assertEquals(List.of(), zombie.commandLine());
        assertNull(zombie.executable());

        assertTrue(holder.memory().get(MemoryKind.ANONYMOUS).stored() >= 200 * 4096, holder.memory()::toString);
        assertTrue(holder.memory().get(MemoryKind.STACK).stored() > 0, holder.memory()::toString);
        assertEquals(10 * 4096, holder.memory().get(MemoryKind.SHARED).mapped());
        assertEquals(
                (10 + 2) * 4096, content.memory().get(MemoryKind.SHARED).stored(), "shared memory and memfd, once");
        long pages = content.parts().stream()
                .filter(p -> p.name().startsWith("pages-"))
                .mapToLong(ImageContent.Part::bytes)
                .sum();
        assertEquals(
                pages,
                content.memory().values().stream().mapToLong(m -> m.stored()).sum(),
                "every stored page is of a kind");

        assertTrue(content.dumpTimes().frozen() > 0 && content.dumpTimes().pagesWritten() >= 200, content::toString);
        assertFiles(bench, holder, content);
        assertSockets(holder, content);
        assertEquals(1, content.deletedFiles().size());
        assertEquals(
                bench.work.resolve("deleted").toString(),
                content.deletedFiles().get(0).path());
        assertEquals(5000, content.deletedFiles().get(0).bytes());
        assertEquals(
                List.of("pid", "mnt", "ipc"),
                content.namespaces().stream()
                        .filter(ImageContent.NamespaceContent::own)
                        .map(ImageContent.NamespaceContent::kind)
                        .toList());
        assertTrue(
                content.mounts().stream()
                        .anyMatch(
                                m -> m.mountPoint().equals("/proc") && m.type().equals("proc")),
                content.mounts()::toString);
    }

    private static ProcessContent named(ImageContent content, String comm) {
        return content.processes().stream()
                .filter(p -> p.comm().equals(comm) && p.state() == State.ALIVE)
                .findFirst()
                .orElseThrow();
    }

    private static void assertFiles(StageBench bench, ProcessContent holder, ImageContent content) {
        Map<Long, FileContent> byId = content.files().stream().collect(Collectors.toMap(FileContent::id, f -> f));
        Map<FileKind, FileContent> others = holder.openFiles().stream()
                .map(open -> byId.get(open.fileId()))
                .filter(file -> file != null && file.kind() != FileKind.FILE)
                .collect(Collectors.toMap(FileContent::kind, f -> f, (a, b) -> a));
        assertEquals("eventfd, counter 42", others.get(FileKind.EVENTFD).name());
        assertEquals("read and write, nonblocking", others.get(FileKind.EVENTFD).access());
        assertEquals("epoll, watches 1", others.get(FileKind.EPOLL).name());
        assertEquals("inotify, watches 1", others.get(FileKind.INOTIFY).name());
        assertEquals("timerfd, clock 1", others.get(FileKind.TIMERFD).name());
        assertEquals("signalfd, mask 0x200", others.get(FileKind.SIGNALFD).name());
        assertEquals("memfd:held", others.get(FileKind.MEMFD).name());
        assertEquals(
                List.of(5000L, 5000L),
                List.of(
                        others.get(FileKind.MEMFD).size(),
                        others.get(FileKind.MEMFD).position()));
        assertEquals(
                bench.work.resolve("fifo").toString(), others.get(FileKind.FIFO).name());
        assertTrue(others.get(FileKind.PIPE).name().startsWith("pipe "), others::toString);
        FileContent output = byId.get(holder.openFiles().get(1).fileId());
        assertEquals("write, append", output.access());
        assertTrue(output.position() > 5, output::toString);
        assertTrue(
                content.files().stream()
                        .anyMatch(f ->
                                f.name().equals(bench.work.resolve("appended").toString())),
                content.files()::toString);
        assertTrue(holder.openFiles().stream().anyMatch(f -> f.kind() == FileKind.EPOLL && f.closeOnExec()));
    }

    private static void assertSockets(ProcessContent holder, ImageContent content) {
        List<SocketContent> sockets = content.sockets();
        SocketContent named = of(sockets, "unix", "stream");
        assertEquals(List.of("LISTEN", "@holdings\033[31m"), List.of(named.state(), named.local()));
        SocketContent tcp = of(sockets, "inet", "stream");
        assertTrue(tcp.local().matches("127\\.0\\.0\\.1:\\d+") && tcp.state().equals("LISTEN"), tcp::toString);
        List<SocketContent> pair =
                sockets.stream().filter(s -> s.type().equals("seqpacket")).toList();
        assertEquals(2, pair.size());
        assertEquals("socket " + pair.get(1).inode(), pair.get(0).peer());
        long inet6 = sockets.stream().filter(s -> s.family().equals("inet6")).count();
        assertEquals(sockets.size(), 4 + inet6);
        assertTrue(holder.openFiles().stream().anyMatch(f -> f.fileId() == tcp.id()));
    }

    private static SocketContent of(List<SocketContent> sockets, String family, String type) {
        return sockets.stream()
                .filter(s -> s.family().equals(family) && s.type().equals(type))
                .findFirst()
                .orElseThrow();
    }

    private static void assertChanges(ImageDifference difference) {
        assertEquals(
                List.of(List.of("newcomer", "1000")),
                difference.came().stream()
                        .map(ImageDifference.ProcessChange::commandLine)
                        .toList());
        assertEquals(List.of(), difference.gone());
        assertEquals(
                Set.of(FileKind.EVENTFD, FileKind.INET_SOCKET),
                difference.closed().stream()
                        .map(ImageDifference.DescriptorChange::kind)
                        .collect(Collectors.toSet()));
        assertEquals(
                Set.of("/dev/zero"),
                difference.opened().stream()
                        .map(ImageDifference.DescriptorChange::name)
                        .collect(Collectors.toSet()));
        ImageDifference.PageChange holder = difference.memory().stream()
                .filter(m -> m.comm().equals("holdings"))
                .findFirst()
                .orElseThrow();
        assertTrue(holder.changed() >= 50 && holder.changed() < 90, holder::toString);
        assertTrue(holder.pages() > 200 && holder.percent() < 50, holder::toString);
        List<ImageDifference.PageChange> shared =
                difference.memory().stream().filter(m -> m.comm().isEmpty()).toList();
        assertEquals(
                12, shared.stream().mapToLong(ImageDifference.PageChange::pages).sum());
        assertEquals(
                1,
                shared.stream().mapToLong(ImageDifference.PageChange::changed).sum(),
                shared::toString);
    }

    private static Path compile(StageBench bench) throws IOException {
        Path source = bench.folder.resolve("holdings.c");
        try (InputStream resource = ImageContentTest.class.getResourceAsStream("holdings.c")) {
            Files.copy(resource, source);
        }
        Path program = bench.work.resolve("holdings");
        HostTool.Answer compiled =
                HostTool.run(60, Arrays.asList("gcc", "-pthread", "-o", program.toString(), source.toString()));
        assertTrue(compiled.ok(), compiled::text);
        return program;
    }
}
