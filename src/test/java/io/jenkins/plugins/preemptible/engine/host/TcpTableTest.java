package io.jenkins.plugins.preemptible.engine.host;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** The table as the kernel writes it, and that of this very kernel. */
class TcpTableTest {

    @Test
    void rows() {
        assertEquals(
                List.of(
                        new TcpTable.Row(2890996, 1, "0100007F:AB75", "0100007F:07E8", 11, 10),
                        new TcpTable.Row(0, 6, "0100007F:0001", "00000000:0000", 0, 0)),
                TcpTable.parse(
                        Stream.of(
                                "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode",
                                "   0: 0000000000000000FFFF00000100007F:AB75 0000000000000000FFFF00000100007F:07E8 01 0000000B:0000000A"
                                        + " 00:00000000 00000000     0        0 2890996 1 0000000058520ecd 100 0 0 10 0",
                                "   1: 0100007F:0001 00000000:0000 06 00000000:00000000 03:00000000 00000000     0        0 0 3 0")));
    }

    @Test
    void addresses() {
        assertEquals("127.0.0.1:2024", TcpTable.address("0100007F:07E8"));
        assertEquals("[0:0:0:0:0:0:0:1]:80", TcpTable.address("00000000000000000000000001000000:0050"));
    }

    @Test
    void aSocketOfThisProcess() throws Exception {
        try (ServerSocket server = new ServerSocket(0, 1, InetAddress.getByName("127.0.0.1"))) {
            String address = "127.0.0.1:" + server.getLocalPort();
            assertTrue(TcpTable.of(ProcessHandle.current().pid()).stream()
                    .anyMatch(r -> TcpTable.address(r.local()).equals(address)));
        }
    }
}
