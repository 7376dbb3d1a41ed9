package io.jenkins.plugins.preemptible.engine.trial;

import com.google.protobuf.ByteString;
import com.google.protobuf.UnknownFieldSet;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.FileEntry;
import io.jenkins.plugins.preemptible.engine.content.format.CriuFields.InetSocket;
import io.jenkins.plugins.preemptible.engine.content.format.ImageFile;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InterfaceAddress;
import java.net.NetworkInterface;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Collections;
import java.util.Set;
import java.util.TreeSet;

/**
 * The network of a trial: nothing of it leaves the host, and what the stage's sockets are bound to is there.
 *
 * <ol>
 *   <li>The host's addresses are on the loopback interface, and so is the default route: a UDP socket that is connected
 *       to the outside finds its own address and a way.
 *   <li>An interface that a socket is bound to (SO_BINDTODEVICE, an IPv6 scope) is a veth of its name.
 *   <li>Ports are free, since the frozen tree holds them in another network namespace.
 * </ol>
 *
 * @param needed lines for {@code ip -batch}; the trial cannot be made without them
 * @param wanted likewise; what cannot be had, such as IPv6, is left out
 */
record ScratchNetwork(String needed, String wanted) {

    static ScratchNetwork of(Path images) throws IOException {
        Path files = images.resolve("files.img");
        Set<String> interfaces = new TreeSet<>();
        boolean sockets = false;
        for (UnknownFieldSet entry :
                ImageFile.parse("files.img", Files.readAllBytes(files)).entries()) {
            for (ByteString each : entry.getField(FileEntry.INET_SOCKET).getLengthDelimitedList()) {
                sockets = true;
                UnknownFieldSet socket = UnknownFieldSet.parseFrom(each);
                texts(socket, InetSocket.INTERFACE, interfaces);
                for (ByteString options : socket.getField(InetSocket.OPTIONS).getLengthDelimitedList()) {
                    texts(UnknownFieldSet.parseFrom(options), InetSocket.BOUND_DEVICE, interfaces);
                }
            }
        }
        StringBuilder needed = new StringBuilder("link set lo up\n");
        int number = 0;
        for (String name : interfaces) {
            if (!name.equals("lo") && name.matches("[^\\s/\"'\\\\]{1,15}")) {
                needed.append("link add ")
                        .append(name)
                        .append(" type veth peer name trial")
                        .append(number++)
                        .append('\n');
                needed.append("link set ").append(name).append(" up\n");
            }
        }
        return new ScratchNetwork(needed.toString(), sockets ? addresses() : "");
    }

    private static void texts(UnknownFieldSet message, int field, Set<String> into) {
        for (ByteString each : message.getField(field).getLengthDelimitedList()) {
            // CRIU writes a C string into one of the two fields.
            into.add(each.toStringUtf8().replace("\0", ""));
        }
    }

    private static String addresses() throws IOException {
        StringBuilder lines = new StringBuilder();
        for (NetworkInterface each : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            for (InterfaceAddress at : each.getInterfaceAddresses()) {
                InetAddress address = at.getAddress();
                if (!address.isLoopbackAddress() && !address.isLinkLocalAddress()) {
                    boolean six = address.getAddress().length > 4;
                    lines.append("addr add ")
                            .append(address.getHostAddress().split("%")[0])
                            .append(six ? "/128 dev lo nodad\n" : "/32 dev lo\n");
                }
            }
        }
        return lines.append("route add 0.0.0.0/0 dev lo\nroute add ::/0 dev lo\n")
                .toString();
    }
}
