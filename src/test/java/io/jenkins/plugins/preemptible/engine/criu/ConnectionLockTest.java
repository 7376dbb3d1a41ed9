package io.jenkins.plugins.preemptible.engine.criu;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Real connections: a locked one is silent, others are not, and nothing that was sent meanwhile is lost. */
class ConnectionLockTest {

    @ParameterizedTest
    @ValueSource(strings = {"127.0.0.1", "::1"})
    void aLockedConnectionIsSilentAndLosesNothing(String loopback) throws Exception {
        InetAddress address = InetAddress.getByName(loopback);
        try (ServerSocket server = new ServerSocket(0, 5, address);
                Socket client = new Socket(address, server.getLocalPort());
                Socket accepted = server.accept();
                Socket otherClient = new Socket(address, server.getLocalPort());
                Socket otherAccepted = server.accept()) {
            accepted.setSoTimeout(200);
            otherAccepted.setSoTimeout(20_000);
            TcpEnds ends =
                    new TcpEnds(ends(address, client.getLocalPort()), ends(address, server.getLocalPort()), true);
            try (ConnectionLock lock = ConnectionLock.of(List.of(ends))) {
                assumeTrue(lock.holds(), "this host has no nftables for this user");
                client.getOutputStream().write(new byte[] {1, 2, 3});
                assertThrows(
                        SocketTimeoutException.class,
                        () -> accepted.getInputStream().read());
                otherClient.getOutputStream().write(7);
                assertEquals(7, otherAccepted.getInputStream().read());
            }
            accepted.setSoTimeout(20_000);
            assertArrayEquals(new byte[] {1, 2, 3}, accepted.getInputStream().readNBytes(3));
        }
    }

    @Test
    void withoutConnectionsThereIsNoRule() {
        try (ConnectionLock lock = ConnectionLock.of(List.of())) {
            assertFalse(lock.holds());
        }
    }

    private static String ends(InetAddress address, int port) {
        String host = address.getHostAddress();
        return (host.contains(":") ? "[" + host + "]" : host) + ":" + port;
    }
}
