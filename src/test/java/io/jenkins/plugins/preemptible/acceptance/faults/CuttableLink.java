package io.jenkins.plugins.preemptible.acceptance.faults;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * A TCP relay between an agent and its controller.
 *
 * <ol>
 *   <li>{@link #cut} holds back all bytes, as a cable that is pulled: neither end is told.
 *   <li>{@link #close} ends what is connected, and refuses what connects.
 *   <li>{@link #mend} ends both; what was held back in a cut is delivered.
 * </ol>
 *
 * Two threads a connection, daemons.
 */
final class CuttableLink implements AutoCloseable {

    private enum State {
        OPEN,
        CUT,
        REFUSING
    }

    private final ServerSocket listening = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    private final int to;
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private State state = State.OPEN;

    CuttableLink(int to) throws IOException {
        this.to = to;
        daemon(this::accept);
    }

    int port() {
        return listening.getLocalPort();
    }

    synchronized void cut() {
        state = State.CUT;
    }

    synchronized void refuse() {
        state = State.REFUSING;
        sockets.forEach(CuttableLink::end);
    }

    synchronized void mend() {
        state = State.OPEN;
        notifyAll();
    }

    @Override
    public void close() throws IOException {
        refuse();
        listening.close();
    }

    private synchronized boolean awaitOpen() throws InterruptedException {
        while (state == State.CUT) {
            wait();
        }
        return state == State.OPEN;
    }

    private void accept() {
        while (!listening.isClosed()) {
            try {
                Socket agent = listening.accept();
                sockets.add(agent);
                daemon(() -> connect(agent));
            } catch (IOException x) {
                // Closed.
                return;
            }
        }
    }

    private void connect(Socket agent) {
        try {
            if (!awaitOpen()) {
                end(agent);
                return;
            }
            Socket controller = new Socket(InetAddress.getLoopbackAddress(), to);
            sockets.add(controller);
            daemon(() -> relay(agent, controller));
            relay(controller, agent);
        } catch (IOException | InterruptedException x) {
            end(agent);
        }
    }

    private void relay(Socket from, Socket to) {
        byte[] buffer = new byte[65536];
        try {
            InputStream in = from.getInputStream();
            OutputStream out = to.getOutputStream();
            for (int read = in.read(buffer); read >= 0 && awaitOpen(); read = in.read(buffer)) {
                out.write(buffer, 0, read);
            }
        } catch (IOException | InterruptedException x) {
            // One of the ends is gone, and so is the other then.
        }
        end(from);
        end(to);
    }

    private static void end(Socket socket) {
        try {
            socket.close();
        } catch (IOException x) {
            throw new AssertionError(x);
        }
    }

    private static void daemon(Runnable work) {
        Thread thread = new Thread(work, "link");
        thread.setDaemon(true);
        thread.start();
    }
}
