package io.jenkins.plugins.preemptible.engine.host;

import java.util.Optional;
import java.util.concurrent.atomic.AtomicLong;
import java.util.logging.Level;
import java.util.logging.Logger;
import jnr.ffi.LibraryLoader;
import jnr.ffi.Pointer;

/**
 * A table of this process's own in the kernel's packet filter (nftables).
 *
 * <ol>
 *   <li>Libnftables makes it, the library that CRIU itself is linked with; the program nft need not be there.
 *   <li>The table is owned ({@code flags owner}): the kernel removes it at {@link #close}, and also when this process
 *       is killed, so no rule stays behind.
 *   <li>Where the library, the right (CAP_NET_ADMIN) or the kernel (Linux 5.12) is missing, there is none.
 * </ol>
 *
 * Each instance may be closed by any thread, any number of times. Source: libnftables(3); nft(8), TABLES.
 */
public final class PacketFilter implements AutoCloseable {

    private static final Logger LOG = Logger.getLogger(PacketFilter.class.getName());
    private static final AtomicLong COUNT = new AtomicLong();

    /** The functions as the library names them. */
    public interface Functions {
        Pointer nft_ctx_new(int flags);

        void nft_ctx_free(Pointer context);

        int nft_ctx_buffer_error(Pointer context);

        String nft_ctx_get_error_buffer(Pointer context);

        int nft_run_cmd_from_buffer(Pointer context, String commands);
    }

    private static final class Bound {
        static final Functions NFT = LibraryLoader.create(Functions.class).load("nftables");
    }

    /** What the table holds, in the words of nft(8). */
    public interface Rules {
        /** The commands that fill it, one a line; all of them count at once, or none. */
        String of(String table);
    }

    private Pointer context;

    private PacketFilter(Pointer context) {
        this.context = context;
    }

    /** Makes a table with these rules in this process's network namespace; empty where that is not possible. */
    public static Optional<PacketFilter> of(Rules rules) {
        try {
            PacketFilter filter = new PacketFilter(Bound.NFT.nft_ctx_new(0));
            Bound.NFT.nft_ctx_buffer_error(filter.context);
            String table = "inet preemptible-" + ProcessHandle.current().pid() + "-" + COUNT.incrementAndGet();
            String commands = "create table " + table + " { flags owner; }\n" + rules.of(table);
            if (Bound.NFT.nft_run_cmd_from_buffer(filter.context, commands) == 0) {
                return Optional.of(filter);
            }
            LOG.warning(() -> "nftables refused: "
                    + Bound.NFT.nft_ctx_get_error_buffer(filter.context).strip());
            filter.close();
        } catch (UnsatisfiedLinkError e) {
            LOG.log(Level.FINE, "libnftables is not on this host", e);
        }
        return Optional.empty();
    }

    @Override
    public synchronized void close() {
        if (context != null) {
            Bound.NFT.nft_ctx_free(context);
            context = null;
        }
    }
}
