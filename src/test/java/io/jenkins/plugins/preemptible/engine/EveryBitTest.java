package io.jenkins.plugins.preemptible.engine;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jenkins.plugins.preemptible.engine.api.FreezeRequest;
import io.jenkins.plugins.preemptible.engine.api.IfDumpFails;
import io.jenkins.plugins.preemptible.engine.api.StageId;
import io.jenkins.plugins.preemptible.engine.api.StageStatus;
import io.jenkins.plugins.preemptible.engine.api.Tier;
import io.jenkins.plugins.preemptible.engine.criu.Criu;
import io.jenkins.plugins.preemptible.engine.criu.CriuSearch;
import io.jenkins.plugins.preemptible.engine.home.LocalImages;
import io.jenkins.plugins.preemptible.engine.host.HostTool;
import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.SortedMap;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/**
 * Every page and every register of a tree before its dump and after its restore, at rest both times.
 *
 * <p>What may differ is little and is the kernel's: words in which it tells a thread its processor, and how far a call
 * had come that the freeze interrupted.
 */
@Tag("host")
@Timeout(600)
class EveryBitTest {

    // Of struct user_regs_struct, x86-64.
    private static final int AX = 80;
    private static final int ORIG_AX = 120;
    private static final int IP = 128;

    private static final int ERESTARTSYS = 512;
    private static final int ERESTARTNOHAND = 514;
    private static final int ERESTART_RESTARTBLOCK = 516;
    private static final int EINTR = 4;

    // Of the standard form of XSAVE.
    private static final int MXCSR = 24;
    private static final int X87_REGISTERS = 32;
    private static final int XMM_REGISTERS = 160;
    private static final int XSTATE_BV = 512;
    private static final int YMM_UPPER_HALVES = 576;
    private static final byte X87 = 1;
    private static final byte SSE = 1 << 1;
    private static final byte AVX = 1 << 2;

    private static final int SIGINFO_BYTES = 128;
    private static final int SIGCHLD = 17;
    private static final int CLD_STOPPED = 5;

    private static final int ATTEMPTS = 5;

    @Test
    void everyPageAndEveryRegisterComesBack() throws Exception {
        assumeTrue(System.getProperty("os.arch").equals("amd64"), "only the registers of x86-64 are known here");
        assumeTrue(HostTool.find("gcc").isPresent(), "there is no C compiler");
        assumeTrue(
                Files.readString(Path.of("/proc/cpuinfo")).contains(" xsave "),
                "this processor has no vector registers that ptrace shows");
        int attempt = 1;
        while (!comesBack(attempt == ATTEMPTS)) {
            attempt++;
        }
    }

    /** @param last whether a difference fails the test */
    private static boolean comesBack(boolean last) throws Exception {
        try (StageBench bench = StageBench.openForArchives()) {
            Path registers = compile(bench, "registers");
            StageStatus started = bench.start(compile(bench, "everystate").toString());
            StageId id = started.id();
            StageBench.until(
                    "a start",
                    Duration.ofSeconds(120),
                    () -> StageBench.lines(bench.engine.status(id).output()) > 0);

            bench.engine.freeze(id, FreezeRequest.plain());
            TreeState before = TreeState.of(started.initPid(), registers);
            bench.engine.dump(id, bench.archive(id), bench.key, IfDumpFails.THAW);
            TreeState dumped = TreeState.of(started.initPid(), registers);
            bench.engine.commit(id);
            Engine stopping = Engines.direct(
                    bench.folder.resolve("home"),
                    new CriuSearch(List.of(stoppingCriu(bench))),
                    null,
                    new LocalImages(false, 0),
                    true);
            assertEquals(
                    Tier.ARCHIVE, stopping.resume(bench.archive(id), bench.key).tier());
            TreeState restored = TreeState.of(bench.engine.status(id).initPid(), registers);
            // The init hears of children that criu stops before it, and may run a few instructions.
            if (!last && !hasSamePages(before, restored)) {
                return false;
            }

            assertEquals(4, before.pages().size(), "the init and three processes");
            assertTrue(before.pageCount() > 4000, "pages: " + before.pageCount());
            assertEquals(
                    4,
                    before.rseq().values().stream()
                            .filter(areas -> !areas.isEmpty())
                            .count());
            assertSame(before, dumped, false);
            assertSame(before, restored, true);
            return true;
        }
    }

    private static boolean hasSamePages(TreeState before, TreeState after) {
        return before.pages().entrySet().stream()
                .allMatch(process -> differences(
                                process.getValue(),
                                after.pages().get(process.getKey()),
                                before.rseq().get(process.getKey()))
                        .isEmpty());
    }

    private static void assertSame(TreeState before, TreeState after, boolean restored) {
        assertEquals(before.mappings(), after.mappings());
        assertEquals(before.rseq(), after.rseq());
        before.pages()
                .forEach((pid, pages) -> assertEquals(
                        List.of(),
                        differences(pages, after.pages().get(pid), before.rseq().get(pid)),
                        "memory of process " + pid));
        assertEquals(before.threads().keySet(), after.threads().keySet());
        before.threads()
                .forEach((name, bytes) -> assertArrayEquals(
                        name.endsWith(" general") ? atRest(bytes, restored) : comparable(name, bytes),
                        comparable(name, after.threads().get(name)),
                        "thread " + name));
    }

    private static byte[] comparable(String name, byte[] bytes) {
        if (name.endsWith(" vector")) {
            return withoutInitialComponents(bytes);
        }
        return name.endsWith(" pending-of-process") ? withoutStops(bytes) : bytes;
    }

    /**
     * The processor may tell of a component that is in its initial state, or leave it out (Intel's Software Developer's
     * Manual, volume 1, 13.6): the SSE and AVX bits of XSTATE_BV count only beside registers that are not zero, the x87
     * bit only beside a state that FNINIT does not make. The registers themselves are compared in any case.
     */
    private static byte[] withoutInitialComponents(byte[] xsave) {
        byte[] kept = xsave.clone();
        if (kept[0] == 0x7f && kept[1] == 3 && isZero(kept, 2, MXCSR) && isZero(kept, X87_REGISTERS, XMM_REGISTERS)) {
            kept[XSTATE_BV] &= ~X87;
        }
        if (isZero(kept, XMM_REGISTERS, XMM_REGISTERS + 16 * 16)) {
            kept[XSTATE_BV] &= ~SSE;
        }
        if (isZero(kept, YMM_UPPER_HALVES, YMM_UPPER_HALVES + 16 * 16)) {
            kept[XSTATE_BV] &= ~AVX;
        }
        return kept;
    }

    private static boolean isZero(byte[] bytes, int from, int to) {
        for (int at = from; at < Math.min(to, bytes.length); at++) {
            if (bytes[at] != 0) {
                return false;
            }
        }
        return true;
    }

    @Test
    void anInitialComponentIsTheSameToldOrLeftOut() {
        byte[] left = new byte[1024];
        byte[] told = left.clone();
        told[XSTATE_BV] = SSE | AVX;
        assertArrayEquals(comparable("1 vector", left), comparable("1 vector", told));
        left[0] = told[0] = 0x7f;
        left[1] = told[1] = 3;
        told[XSTATE_BV] |= X87;
        assertArrayEquals(comparable("1 vector", left), comparable("1 vector", told));
        left[2] = told[2] = 1;
        assertFalse(
                Arrays.equals(comparable("1 vector", left), comparable("1 vector", told)), "the status word counts");
        left[2] = told[2] = 0;
        told[XMM_REGISTERS + 3] = 1;
        assertFalse(Arrays.equals(comparable("1 vector", left), comparable("1 vector", told)));
        byte[] other = told.clone();
        other[XSTATE_BV] &= ~SSE;
        assertFalse(
                Arrays.equals(comparable("1 vector", other), comparable("1 vector", told)),
                "the bit counts beside a value");
    }

    // How the restored tree is kept from running shows: a parent is told that its child was stopped.
    private static byte[] withoutStops(byte[] pending) {
        ByteBuffer kept = ByteBuffer.allocate(pending.length);
        for (int at = 0; at < pending.length; at += SIGINFO_BYTES) {
            ByteBuffer info = ByteBuffer.wrap(pending, at, SIGINFO_BYTES).order(ByteOrder.LITTLE_ENDIAN);
            if (info.getInt(at) != SIGCHLD || info.getInt(at + 2 * Integer.BYTES) != CLD_STOPPED) {
                kept.put(pending, at, SIGINFO_BYTES);
            }
        }
        return Arrays.copyOf(kept.array(), kept.position());
    }

    private static List<String> differences(SortedMap<Long, byte[]> before, Map<Long, byte[]> after, List<Long> rseq) {
        assertEquals(before.keySet(), after.keySet());
        List<String> differences = new ArrayList<>();
        before.forEach((address, page) -> {
            byte[] other = after.get(address);
            assertEquals(page.length, other.length);
            for (int i = 0; i < page.length; i++) {
                if (page[i] != other[i] && !ownedByTheKernel(address + i, rseq)) {
                    differences.add(Long.toHexString(address + i));
                }
            }
        });
        return differences;
    }

    /**
     * Of struct rseq (linux/rseq.h) the kernel writes anew whenever a thread comes back to a processor: cpu_id_start and
     * cpu_id, and after rseq_cs and flags, which are the program's, node_id and mm_cid.
     */
    private static boolean ownedByTheKernel(long address, List<Long> rseq) {
        return rseq.stream()
                .map(area -> address - area)
                .anyMatch(offset -> (offset >= 0 && offset < 8) || (offset >= 20 && offset < 28));
    }

    /**
     * A thread that was frozen inside a system call is wound back by CRIU (compel_get_task_regs): the call is made again,
     * or where only the kernel knows how to go on (nanosleep), it returns EINTR. After a restore no call is under way.
     */
    private static byte[] atRest(byte[] general, boolean restored) {
        ByteBuffer registers = ByteBuffer.wrap(general.clone()).order(ByteOrder.LITTLE_ENDIAN);
        long call = registers.getLong(ORIG_AX);
        long result = -registers.getLong(AX);
        if (call >= 0 && result >= ERESTARTSYS && result <= ERESTARTNOHAND) {
            registers.putLong(AX, call).putLong(IP, registers.getLong(IP) - 2);
        } else if (call >= 0 && result == ERESTART_RESTARTBLOCK) {
            registers.putLong(AX, -EINTR);
        }
        if (restored) {
            registers.putLong(ORIG_AX, -1);
        }
        return registers.array();
    }

    // CRIU then sends SIGSTOP before it lets go of a process, so that not one instruction of it runs.
    private static Path stoppingCriu(StageBench bench) throws IOException {
        Criu real = new CriuSearch().usable().orElseThrow();
        Path script = Files.createFile(
                bench.folder.resolve("criu"),
                PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
        return Files.writeString(
                script,
                "#!/bin/sh\n[ \"$1\" != restore ] || set -- \"$@\" --leave-stopped\nexec '" + real.program()
                        + "' \"$@\"\n");
    }

    private static Path compile(StageBench bench, String name) throws IOException {
        Path source = bench.folder.resolve(name + ".c");
        try (InputStream resource = EveryBitTest.class.getResourceAsStream(name + ".c")) {
            Files.copy(resource, source);
        }
        Path program = bench.work.resolve(name);
        HostTool.Answer compiled = HostTool.run(
                60, List.of("gcc", "-O1", "-march=native", "-pthread", "-o", program.toString(), source.toString()));
        assertTrue(compiled.ok(), compiled::text);
        return program;
    }
}
