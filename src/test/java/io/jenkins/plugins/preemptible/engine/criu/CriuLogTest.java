package io.jenkins.plugins.preemptible.engine.criu;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.jenkins.plugins.preemptible.engine.api.FailureReason;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;

class CriuLogTest {

    private static final List<String> HARMLESS = List.of(
            "(00.036418) Error (criu/util.c:1534): rlimit: Can't setup RLIMIT_NOFILE for self: Operation not permitted",
            "(00.041105) Error (criu/tun.c:85): tun: Unable to create tun: Permission denied",
            "(00.041377) Error (criu/net.c:1253): net: Unexpected error: -1(Operation not permitted)");

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        Error (compel/src/lib/infect.c:418): Unseizable non-zombie 17 found, state S, err -1/10 | TRACED
        Error (compel/src/lib/infect.c:323): Can't dump the 32 thread with a pending SIGTRAP. | PENDING_TRAP
        Error (criu/seize.c:340): zombie 12 (comm sleep) found while seizing | TRACED
        Error (compel/src/lib/infect.c:262): Unseizable non-zombie 18959 found, state D, err -1/4 | KERNEL_WAIT
        Error (criu/sk-inet.c:191): inet: Connected TCP socket, consider using --tcp-established option. | CONNECTED_TCP
        Error (criu/file-lock.c:120): Some file locks are hold by dumping tasks! You can try --file-locks to dump them. | FILE_LOCKS
        Error (criu/files-reg.c:1090): Can't dump ghost file /x of 2000000 size, increase limit | DELETED_FILE_TOO_LARGE
        Error (criu/files-reg.c:1790): Can't lookup mount=24 for fd=10 path=/dev/null | OUTSIDE_FILE
        Error (criu/sk-unix.c:800): unix: External socket is used. Consider using --ext-unix-sk option. | UNIX_SOCKET_OUTSIDE
        Error (criu/cr-restore.c:1500): Can't fork for 77: File exists | PID_TAKEN
        Error (criu/files-reg.c:2104): File var/tmp/output.log has bad size 3 (expect 9) | PATH_MISSING
        Error (criu/page-xfer.c:260): page-xfer: Unable to spice data: No space left on device | NO_SPACE
        Error (criu/vdso.c:300): vdso: Unexpected rt vDSO area bounds | CRIU_UNUSABLE
        Error (criu/mount-v2.c:634): mnt-v2: Can't stat mountpoint /tmp/.criu.mntns.1b/mnt-26/root/m: Permission denied | MOUNT_UNREACHABLE
        Error (criu/mount.c:600): mnt: Unable to mount: Operation not permitted | NO_RIGHTS
        Error (criu/cr-dump.c:675): Can't make FS id for 4711 | SHARED_FOLDER
        Error (criu/cr-dump.c:389): Can't get rlimit 0: Operation not permitted | OTHER_USER
        Error (criu/pie/parasite.c:588): send_fds failed (-22) | IO_URING
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [600] (anon anon_inode:[userfaultfd]) | USERFAULTFD
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [600] (anon anon_inode:[perf_event]) | PERF_EVENT
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [600] (anon anon_inode:bpf-map) | BPF
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [600] (anon anon_inode:bpf-prog) | BPF
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [600] (anon anon_inode:seccomp notify) | SECCOMP_NOTIFY
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [600] (anon anon_inode:[landlock-ruleset]) | LANDLOCK
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [600] (anon anon_inode:[fscontext]) | MOUNT_HANDLE
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [20660] (chr 10:232) | KVM_DEVICE
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [20666] (chr 10:229) | FUSE_DEVICE
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [20660] (chr 10:237) | DEVICE
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [20600] (chr 4:64) | DEVICE
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [60600] (unknown /dev/loop0) | DEVICE
        Error (criu/files-ext.c:94): Can't dump file 3 of that type [20660] (chr 226:128) | GPU_DEVICE
        Error (criu/tun.c:306): tun: Net namespace is required to dump tun link | TUN_DEVICE
        Error (criu/sk-inet.c:185): inet: In-flight connection (l) for 2b4b4b | PENDING_CONNECTION
        Error (criu/sk-inet.c:186): inet: In-flight connections can be ignored with the --skip-in-flight option. | PENDING_CONNECTION
        Error (criu/sk-inet.c:137): inet: Unsupported proto 262 for socket 2b5337 | MPTCP
        Error (criu/sk-tcp.c:81): tcp: Failed to lock TCP connection 2c16a3 | CONNECTED_TCP
        Error (criu/sk-inet.c:1059): inet: Can't bind inet socket (id 10): Address already in use | ADDRESS_TAKEN
        Error (criu/sockets.c:767): sockets: BUG! Unknown socket collected (family 40) | SOCKET_KIND
        Error (criu/sk-netlink.c:77): netlink: The socket has data to read | UNREAD_NETLINK
        Error (criu/pidfd.c:97): pidfd: pidfd pid 12241 is not a part of process tree.. | PIDFD_OUTSIDE
        Error (criu/tty.c:410): tty: Found slave peer index 0 without correspond master peer | TERMINAL_OUTSIDE
        Error (criu/namespaces.c:460): Can't dump nested pid namespace for 16887 | NESTED_CONTAINER
        Error (criu/namespaces.c:460): Can't dump nested time_for_children namespace for 17372 | NESTED_CONTAINER
        Error (criu/pstree.c:969): Can't restore sub-task in NS (cflags 40000000) | NETWORK_NAMESPACE
        Error (criu/proc_parse.c:502): Unknown shit 100600 (/secretmem (deleted)) | SECRET_MEMORY
        Error (criu/seize.c:882): Zombies with threads are not supported | DEAD_LEADER
        Error (criu/seize.c:335): zombie 12359 (comm ) found while seizing | TRACED
        Error (criu/files-reg.c:1122): Can't create link remap for /var/tmp/dl. Use link-remap option. | COVERED_FILE
        Error (criu/files-reg.c:1453): Unaccessible path opened 34:2, need 35:2 | COVERED_FILE
        Error (criu/files-reg.c:1796): Open files on overmounted mounts are not supported yet; mount=5 fd=3 path=/x | COVERED_FILE
        Error (criu/sk-inet.c:504): inet: Can't dump corked dgram socket 33a8f4 | CORKED_SOCKET
        Error (criu/files-reg.c:1790): Can't lookup mount=63 for fd=3 path=/pfq | OUTSIDE_FILE
        Error (criu/somewhere.c:1): a thing nobody knows | CRIU_FAILED
        """)
    void linesGiveReasons(String line, FailureReason reason) {
        CriuLog log = logged("(00.01) Warn  (criu/x.c:1): odd", line, "(00.5) Dumping");
        assertEquals(reason, log.reason());
        assertEquals(List.of(line), log.decisive());
    }

    private static CriuLog logged(String... lines) {
        return CriuLog.of(Stream.concat(HARMLESS.stream(), Stream.of(lines)).toList());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', textBlock = """
        Error (criu/sk-inet.c:912): inet: Connected TCP socket in image | CRIU_FAILED
        Error (criu/files-reg.c:2258): Can't link var/tmp/link_remap.11 -> var/tmp/dl: No such file or directory | CRIU_FAILED
        Error (criu/sk-inet.c:1059): inet: Can't bind inet socket (id 10): Address already in use | ADDRESS_TAKEN
        Error (criu/sk-inet.c:942): inet: Can't listen on a socket: Address already in use | ADDRESS_TAKEN
        Error (soccr/soccr.c:478): Can't connect inet socket back: Cannot assign requested address | ADDRESS_TAKEN
        Error (criu/files-reg.c:2104): File var/tmp/output.log has bad size 3 (expect 9) | PATH_MISSING
        """)
    void aRestoreAdvisesNothingToAStageThatDoesNotRun(String line, FailureReason reason) {
        assertEquals(reason, CriuLog.ofRestore(List.of(line)).reason());
    }

    @Test
    void harmlessLinesAloneDecideNothing() {
        assertEquals(FailureReason.CRIU_FAILED, CriuLog.of(HARMLESS).reason());
        assertEquals(FailureReason.CRIU_FAILED, CriuLog.of(List.of()).reason());
    }

    @Test
    void aLongLogIsCut() {
        List<String> many = java.util.Collections.nCopies(100, "Error (criu/x.c:1): again");
        assertEquals(12, CriuLog.of(many).decisive().size());
    }

    @ParameterizedTest
    @EnumSource(FailureReason.class)
    void everyReasonIsASentenceWithARemedy(FailureReason reason) {
        for (String text : List.of(reason.sentence(), reason.remedy())) {
            assertTrue(Character.isUpperCase(text.charAt(0)), text);
            assertFalse(text.endsWith("."), text);
        }
    }
}
